"""The optional parts of this installation: what each needs, and the command that installs it."""

import json
import platform
import re
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["EXTRAS", "how_to_get_the_trainer", "install_command", "missing"]

EXTRAS = {"trainer": "train the project's own models", "operator": "talk to a cluster"}
"""The purpose of each extra."""

_DISTRIBUTION = "quantumtrainingjob"
_SOURCES = {
    "trainer": (
        "operator/qtj_contract",
        "operator/qtj_report",
        "trainer/qtj_simulator",
        "trainer/qtj_trainer[tensorflow]",
    ),
    "operator": ("operator/qtj_contract", "operator/qtj_operator[cluster]"),
    "tensorboard": ("operator/qtj_contract", "operator/qtj_operator", "operator/qtj_report", ".[tensorboard]"),
}
"""What pip installs for an extra, in a checkout: an index has none of our distributions."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^]]*)])?[^;]*(?:;.*extra == ['\"](?P<extra>\w+)['\"])?")


def missing(extra: str, of: str = _DISTRIBUTION) -> Sequence[str]:
    """Returns the distributions of an extra that this Python environment lacks.

    Args:
        extra: Its name; "" for what a distribution always needs.
        of: Which distribution it is an extra of.
    """
    try:
        required = distribution(of).requires or ()
    except PackageNotFoundError:  # run from its sources: unknown
        return ()
    found = (
        matched for each in required if (matched := _REQUIREMENT.match(each)) and (matched["extra"] or "") == extra
    )
    return [name for each in found for name in _lacking(each["name"], (each["extras"] or "").split(","))]


def install_command(extra: str) -> str:
    """Returns the command that installs an extra. The project is not published: it is installed from a checkout."""
    checkout = _checkout()
    if checkout is None:
        return f"{shlex.join(['pip', 'install', *(f'./{source}' for source in _SOURCES[extra])])} in a checkout of qtj"
    return shlex.join(["pip", "install", *(f"{checkout}/{source}" for source in _SOURCES[extra])])


def how_to_get_the_trainer() -> str:
    """Returns the end of a message about TensorFlow Quantum, which is not installed."""
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return f": {install_command('trainer')}"
    return ", which is published only for Linux on x86-64: run the job there or on a cluster"


def _lacking(name: str, extras: Sequence[str]) -> Sequence[str]:
    """Returns a distribution if it is not installed; if it is one of ours and is installed, what it lacks."""
    if name.startswith(_DISTRIBUTION):
        if not _is_installed(name) and find_spec(f"qtj_{name.rpartition('-')[2]}"):  # its sources are on the path
            return ()
        if _is_installed(name):
            return [each for extra in {"", *extras} for each in missing(extra, name)]
    return () if _is_installed(name) else (name,)


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _checkout() -> Path | None:
    """Returns the folder that this was installed from, if it is there: what pip records by PEP 610."""
    try:
        recorded = json.loads(distribution(_DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    address = urlsplit(recorded.get("url", ""))
    folder = Path(unquote(address.path))
    return folder if address.scheme == "file" and (folder / "pyproject.toml").is_file() else None
