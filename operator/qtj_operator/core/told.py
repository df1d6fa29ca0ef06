"""What the last event about a pod says."""

from dataclasses import dataclass

__all__ = ["Told"]


@dataclass(frozen=True, slots=True)
class Told:
    """The last event about a pod.

    Attributes:
        is_warning: Whether something has failed.
        reason: Its reason, such as FailedMount.
        message: Its message, in one line.
    """

    is_warning: bool
    reason: str
    message: str
