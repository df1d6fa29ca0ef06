"""How much memory this process may take. What is left of it, the native engine looks for itself (`free.c`)."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["memory_limit"]

_MOUNTS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")

_VERSIONS = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}
"""Folder and file of a limit by controller, as /proc/self/cgroup names it; version 2 has one without a name."""


def memory_limit(mounts: Path = _MOUNTS, own: Path = _OWN) -> int:
    """Returns the bytes of this machine, or of the least limit of the control groups around this process.

    Args:
        mounts: Where control groups are mounted, version 2 or 1.
        own: What names those of this process.
    """
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(mounts, own)])


def _limits(mounts: Path, own: Path) -> Iterator[int]:
    """Of every group from that of this process up to the root; a container sees its own as the root."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in _VERSIONS.keys() & set(controllers.split(",")):
            (folder, name), group = _VERSIONS[controller], Path(path.lstrip("/"))
            for each in (group, *group.parents):
                limit = _text(mounts / folder / each / name).strip()
                if limit.isdecimal():
                    yield int(limit)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
