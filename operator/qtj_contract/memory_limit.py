"""How much memory this process may take, and how much of it is left."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["free_memory", "memory_limit"]

_MOUNTS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_MACHINE = Path("/proc/meminfo")


class _Files(NamedTuple):
    """Where a version of control groups says what of memory."""

    folder: str
    limit: str
    used: str
    inactive: str
    """In memory.stat: cached files that nobody has looked at lately. The kernel drops them before it kills."""


_VERSIONS = {
    "": _Files("", "memory.max", "memory.current", "inactive_file"),
    "memory": _Files("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""By controller, as /proc/self/cgroup names it: version 2 has one hierarchy without a name."""


class _Group(NamedTuple):
    limit: int
    used: int


def memory_limit(mounts: Path = _MOUNTS, own: Path = _OWN) -> int:
    """Returns the bytes of this machine, or of the least limit of the control groups around this process.

    Args:
        mounts: Where control groups are mounted, version 2 or 1.
        own: What names those of this process.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *(group.limit for group in _groups(mounts, own))])


def free_memory(mounts: Path = _MOUNTS, own: Path = _OWN, machine: Path = _MACHINE) -> int:
    """Returns the bytes that can be taken before a limit, or the machine's memory, is reached.

    Args:
        mounts: Where control groups are mounted, version 2 or 1.
        own: What names those of this process.
        machine: What the kernel tells about the machine.

    Returns:
        The least of them; 0 if none is known.
    """
    available = _numbers(machine).get("MemAvailable:")
    rooms = [max(group.limit - group.used, 0) for group in _groups(mounts, own)]
    return min([*rooms, *([] if available is None else [available * 1024])], default=0)


def _groups(mounts: Path, own: Path) -> Iterator[_Group]:
    """Finds every group with a limit from that of this process up to the root; a container sees its own as the root."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in _VERSIONS.keys() & set(controllers.split(",")):
            files, group = _VERSIONS[controller], Path(path.lstrip("/"))
            for each in (group, *group.parents):
                yield from _group(mounts / files.folder / each, files)


def _group(folder: Path, files: _Files) -> Iterator[_Group]:
    limit, used = (_text(folder / name).strip() for name in (files.limit, files.used))
    if limit.isdecimal():
        inactive = _numbers(folder / "memory.stat").get(files.inactive, 0)
        yield _Group(int(limit), max(int(used or 0) - inactive, 0))


def _numbers(path: Path) -> dict[str, int]:
    """Reads lines of a name and a number."""
    lines = (line.split() for line in _text(path).splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
