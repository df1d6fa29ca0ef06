"""What this process may use of this machine: a container's limits count, not what the machine has."""

import ctypes
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from qtj_contract.cpu_limit import cpu_limit

__all__ = ["ends_with_its_parent", "usable_processors"]

_GROUPS = Path("/sys/fs/cgroup")
_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER = 2, 37
"""prctl(2)."""


def usable_processors(groups: Path = _GROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Returns the processors that this process may run on, or the least limit of its control groups."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([allowed, *filter(None, map(cpu_limit, _groups(groups, own)))])


def ends_with_its_parent() -> bool:
    """Tells whether this kernel can end a process with its parent, and hand orphans to one that asks for them."""
    if platform.system() != "Linux":
        return False
    prctl, said = ctypes.CDLL(None).prctl, ctypes.c_int()
    return all(prctl(option, ctypes.byref(said)) == 0 for option in (_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER))


def _groups(root: Path, own: Path) -> Iterator[Path]:
    """Yields the folders that may hold a limit: in a container the root does, below systemd the group or one above."""
    yield root
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for path in (line.removeprefix("0::/") for line in lines if line.startswith("0::/")):
        yield from (root / part for part in (Path(path), *Path(path).parents) if part != Path())
