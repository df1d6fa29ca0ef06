"""The versions of libraries that are installed."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["tensorflow_version"]


def tensorflow_version() -> str:
    """Returns TensorFlow's version; empty where it is not installed.

    It is published under two names. The image has the one without programs for GPUs.
    """
    for name in ("tensorflow", "tensorflow-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""
