"""The order of a run's logs, by their names: a copy of a folder keeps the names, but not the times of its files."""

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["in_order"]

_OF_REPLICA = re.compile(r"(?P<pod>.+)\.(?P<attempt>[0-9]+)")


def in_order(logs: Iterable[Path]) -> list[Path]:
    """Returns logs by attempt, then by replica; those of inference, which have no attempt, come last, oldest first."""
    return sorted(logs, key=_place)


def _place(path: Path) -> tuple[bool, float, list[str | int], str]:
    of_replica = _OF_REPLICA.fullmatch(path.stem)
    if of_replica is None:
        return True, path.stat().st_mtime, [], path.stem
    pieces = re.split("([0-9]+)", of_replica["pod"])  # text and numbers in turn, so that two names can be compared
    natural: list[str | int] = [int(each) if each.isdecimal() else each for each in pieces]
    return False, int(of_replica["attempt"]), natural, path.stem
