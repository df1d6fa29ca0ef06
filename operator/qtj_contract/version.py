"""The installed version."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


def installed_version() -> str:
    """Returns the version, which all distributions of an installation share.

    Raises:
        PackageNotFoundError: The packages are run from their sources, and are not installed.
    """
    try:
        return version("quantumtrainingjob-contract")
    except PackageNotFoundError:  # `pip install -e .` in a checkout installs all packages as one
        return version("quantumtrainingjob")
