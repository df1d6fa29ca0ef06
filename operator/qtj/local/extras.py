"""The optional parts of this installation: what each needs, and the command that installs it."""

import json
import platform
import re
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["EXTRAS", "how_to_get_the_trainer", "install_command", "missing"]

EXTRAS = {"trainer": "train the project's own models", "operator": "talk to a cluster"}
"""What each is good for."""

_DISTRIBUTION = "quantumtrainingjob"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*;.*extra == ['\"](?P<extra>\w+)['\"]")


def missing(extra: str) -> Sequence[str]:
    """Returns the distributions of an extra that this Python environment lacks."""
    try:
        required = distribution(_DISTRIBUTION).requires or ()
    except PackageNotFoundError:  # run from its sources: nobody knows
        return ()
    found = (matched for each in required if (matched := _REQUIREMENT.match(each)) and matched["extra"] == extra)
    return [each["name"] for each in found if not _is_installed(each["name"])]


def install_command(extra: str) -> str:
    """Returns the command that installs an extra. The project is published nowhere: it installs from its checkout."""
    checkout = _checkout()
    if checkout is None:
        return f"pip install '.[{extra}]' in a checkout of this project"
    return shlex.join(["pip", "install", f"{checkout}[{extra}]"])


def how_to_get_the_trainer() -> str:
    """Returns the end of a sentence on TensorFlow Quantum, which is not there."""
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return f": {install_command('trainer')}"
    return ", which is published for Linux on x86-64 alone: run the job there or on a cluster"


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
