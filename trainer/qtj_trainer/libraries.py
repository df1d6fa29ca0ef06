"""The versions of installed libraries."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["tensorflow_version"]


def tensorflow_version() -> str:
    """Returns TensorFlow's version; empty if it is not installed.

    It is published under two names. The image has the distribution without GPU support.
    """
    for name in ("tensorflow", "tensorflow-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""
