"""How much memory this container may still take."""

from pathlib import Path

from qtj_trainer.cpu import memory_limit

__all__ = ["free_memory"]


def free_memory(cgroup: Path = Path("/sys/fs/cgroup"), meminfo: Path = Path("/proc/meminfo")) -> int:
    """Returns the bytes that can be taken before the container's limit or the machine's memory is reached.

    Args:
        cgroup: Where the control group of version 2 is mounted.
        meminfo: What the kernel tells about the machine.

    Returns:
        The smaller of the two; 0 if neither is known.
    """
    machine = [line.split() for line in _lines(meminfo) if line.startswith("MemAvailable:")]
    rooms = [int(words[1]) * 1024 for words in machine]
    limit, used = memory_limit(cgroup), _lines(cgroup / "memory.current")
    if limit is not None and used:
        rooms.append(max(limit - int(used[0]), 0))
    return min(rooms, default=0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().split("\n")
    except OSError:
        return []
