"""How much memory programs may take on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["machine_memory"]

_LIMITS = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}
"""By controller, as /proc/self/cgroup names it: where its hierarchy is mounted, and what holds the limit. Version 2 has
one hierarchy without a name."""


def machine_memory(mounts: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Returns the bytes of this machine, or of the least limit of the control groups around this process.

    Args:
        mounts: Where control groups are mounted, version 1 or 2.
        own: What names those of this process.
    """
    present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([present, *_limits(mounts, own)])


def _limits(mounts: Path, own: Path) -> Iterator[int]:
    """Finds every limit from the group of this process up to the root; a container sees its own group as the root."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in _LIMITS.keys() & set(controllers.split(",")):
            mount, name = _LIMITS[controller]
            group = Path(path.lstrip("/"))
            for each in (group, *group.parents):
                if (limit := _text(mounts / mount / each / name).strip()).isdecimal():
                    yield int(limit)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # macOS has no control groups
        return ""
