"""How much memory and how many processors control groups allow this process.

A container, or a systemd service, may use less than the machine has. Version 2 has one hierarchy, version 1 one for
each controller. The limits of the groups above count as well; a container sees its own group as the root.

The trainer's native engine measures the free memory itself, in C.
"""

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

__all__ = ["cpu_limit", "memory_limit", "usable_processors"]

_MOUNTS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


_VERSION_2 = ""
"""The controller of version 2, as /proc/self/cgroup names it."""

_MEMORY = {_VERSION_2: "memory.max", "memory": "memory.limit_in_bytes"}
"""Files of a limit on memory."""


def memory_limit(mounts: Path = _MOUNTS, own: Path = _OWN) -> int:
    """Returns the bytes of this machine, or the lowest limit of the control groups of this process.

    Args:
        mounts: Where control groups are mounted, version 2 or 1.
        own: The file that names those of this process.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_memory_limits(mounts, own)])


def cpu_limit(mounts: Path = _MOUNTS, own: Path = _OWN) -> int | None:
    """Returns the lowest limit of the control groups of this process, rounded up to whole processors.

    Args:
        mounts: Where control groups are mounted, version 2 or 1.
        own: The file that names those of this process.

    Returns:
        The limit, or None when there is none.
    """
    limits = (_processors(folder, controller) for controller, folder in _folders(mounts, own, "cpu"))
    return min((limit for limit in limits if limit is not None), default=None)


def usable_processors(mounts: Path = _MOUNTS, own: Path = _OWN) -> int:
    """Returns how many processors this process may use: those it may run on, or the limit of its control groups.

    Args:
        mounts: Where control groups are mounted, version 2 or 1.
        own: The file that names those of this process.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, cpu_limit(mounts, own) or allowed)


def _folders(mounts: Path, own: Path, controller: str) -> Iterator[tuple[str, Path]]:
    """Yields the folders that may hold a limit, with the controller whose version decides how it is written."""
    groups = {_VERSION_2: {Path()}, controller: {Path()}}
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        for each in groups.keys() & set(controllers.split(",")):
            group = Path(path.lstrip("/"))
            groups[each] |= {group, *group.parents}
    for each, paths in groups.items():
        yield from ((each, mounts / each / path) for path in paths)


def _memory_limits(mounts: Path, own: Path) -> Iterator[int]:
    """Yields the limit of every group that has one."""
    for controller, folder in _folders(mounts, own, "memory"):
        limit = _text(folder / _MEMORY[controller]).strip()
        if limit.isdecimal():
            yield int(limit)


def _processors(folder: Path, controller: str) -> int | None:
    """Returns the limit of a group: "max" in version 2 and -1 in version 1 mean none."""
    names = ("cpu.max",) if controller == _VERSION_2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    match " ".join(_text(folder / name) for name in names).split():
        case [quota, period] if quota.isdecimal() and int(quota):
            return ceil(int(quota) / int(period))
        case _:
            return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
