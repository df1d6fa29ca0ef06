"""The versions of installed libraries."""

import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version

__all__ = ["imported_versions", "tensorflow_version"]


def imported_versions() -> Mapping[str, str]:
    """Returns the versions of Python and of the distributions of which a module is imported, by name."""
    installed, imported = packages_distributions(), {name.partition(".")[0] for name in [*sys.modules]}
    names = {each for name in imported for each in installed.get(name, ())}
    return {"python": platform.python_version(), **{name: version(name) for name in sorted(names)}}


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
