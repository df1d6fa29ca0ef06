"""The order of a run's logs, by their names: a copy of a folder keeps the names, but not the times of its files."""

import re
from collections.abc import Iterable
from pathlib import Path

from qtj.local.natural import natural_key

__all__ = ["in_order", "log_place"]

_OF_REPLICA = re.compile(r"(?P<pod>.+)\.(?P<attempt>[0-9]+)")


def in_order(logs: Iterable[Path]) -> list[Path]:
    """Returns logs by attempt, then by replica; those of inference, which have no attempt, come last, oldest first."""
    return sorted(logs, key=_place)


def log_place(name: str) -> tuple[bool, int, list[str | int]]:
    """Returns the place of a log by its name: whether it is of inference, the attempt, and the replica."""
    of_replica = _OF_REPLICA.fullmatch(name)
    pod, attempt = (of_replica["pod"], int(of_replica["attempt"])) if of_replica else (name, 0)
    return of_replica is None, attempt, natural_key(pod)


def _place(path: Path) -> tuple[bool, float, list[str | int], str]:
    infers, attempt, natural = log_place(path.stem)
    return (True, path.stat().st_mtime, [], path.stem) if infers else (False, attempt, natural, path.stem)
