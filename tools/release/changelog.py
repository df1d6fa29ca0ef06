"""CHANGELOG.md: what is new since the last release, and what each release brought."""

import re
from datetime import date

_OPEN = "## Unreleased\n"


class ChangelogError(Exception):
    """What is wrong with the changelog, in one sentence."""


def section(text: str, version: str) -> str:
    """Returns what a release brought, without its heading.

    Raises:
        ChangelogError: There is no dated section of that version, or it is empty.
    """
    found = re.search(
        rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if not found or not found[1].strip():
        raise ChangelogError(f"CHANGELOG.md has no section `## {version} - DATE`: `make version VERSION=...` writes it")
    return found[1].strip() + "\n"


def close(text: str, version: str, day: date) -> str:
    """Returns the changelog with what was unreleased as a release, and nothing unreleased.

    Raises:
        ChangelogError: Nothing is unreleased.
    """
    before, heading, after = text.partition(_OPEN)
    if not heading or not after.partition("\n## ")[0].strip():
        raise ChangelogError("CHANGELOG.md has nothing below `## Unreleased`: write what the release brings")
    return f"{before}{_OPEN}\n## {version} - {day:%Y-%m-%d}\n{after}"
