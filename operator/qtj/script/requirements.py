"""What a file of requirements says, as far as this machine judges it: names, pinned versions and hashes.

pip judges the rest, where it installs them. So what depends on a condition (`; python_version < "3.9"`), and a version
that is no `==`, are taken as they are.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

__all__ = ["Requirement", "not_installed", "other_files", "requirements_in"]

_NAME = r"[A-Za-z0-9](?:[-._A-Za-z0-9]*[A-Za-z0-9])?"
_LINE = re.compile(rf"(?P<name>{_NAME})\s*(?:\[[^]]*\])?\s*(?P<version>[^;#]*?)\s*(?P<condition>;.*)?")
_PINNED = re.compile(r"===?\s*([^\s,*]+)")
_OTHER_FILE = re.compile(r"(?:-[rc]|--requirement|--constraint)[\s=]*(?P<name>\S+)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One package.

    Attributes:
        text: The package and its version, without hashes.
        name: Its name.
        pinned: Its version, if it is pinned.
        is_conditional: Whether it is needed somewhere alone.
        has_hash: Whether a hash is named.
    """

    text: str
    name: str
    pinned: str | None
    is_conditional: bool
    has_hash: bool


def requirements_in(text: str) -> Iterator[Requirement]:
    """Yields the packages of a file of requirements; other lines, such as options, are left out."""
    for line in _lines(text):
        what, *hashes = re.split(r"\s--hash[=\s]", line)
        if match := _LINE.fullmatch(what.strip()):
            pinned = _PINNED.fullmatch(match["version"])
            yield Requirement(
                what.strip(), match["name"], pinned and pinned[1], match["condition"] is not None, bool(hashes)
            )


def other_files(text: str) -> Iterator[str]:
    """Yields the other files that a file of requirements names, beside it or at an address."""
    yield from (match["name"] for line in _lines(text) if (match := _OTHER_FILE.match(line)))


def not_installed(requirements: Iterable[Requirement]) -> str | None:
    """Returns one sentence about the packages that this Python lacks, or has in another version; None if it has all."""
    lacking = [what for each in requirements if not each.is_conditional and (what := _lack(each))]
    if not lacking:
        return None
    return f"nothing is installed on this machine, and its Python lacks {', '.join(lacking)}"


def _lines(text: str) -> Iterator[str]:
    """Yields lines as pip joins them, without comments."""
    for line in re.sub(r"\\\n", " ", text.replace("\r\n", "\n")).splitlines():
        if written := re.sub(r"(^|\s)#.*", "", line).strip():
            yield written


def _lack(requirement: Requirement) -> str | None:
    try:
        present = version(requirement.name)
    except PackageNotFoundError:
        return requirement.text
    return f"{requirement.text} (it has {present})" if requirement.pinned not in {None, present} else None
