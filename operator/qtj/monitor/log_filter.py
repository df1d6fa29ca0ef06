"""Which logs are meant by the name of a replica."""

from collections.abc import Callable

__all__ = ["log_filter"]


def log_filter(job: str, replica: str | None) -> Callable[[str], bool]:
    """Returns the filter for the name of a log: by the pod's name, with or without the job's, and its attempt."""
    if replica is None:
        return lambda _: True
    names = (replica, f"{job}-{replica}")
    return lambda log: any(log == name or log.startswith((f"{name}.", f"{name}-")) for name in names)
