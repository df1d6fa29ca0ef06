"""How much memory programs may take on this machine."""

from pathlib import Path

from qtj_contract.memory_limit import memory_limit

__all__ = ["machine_memory"]


def machine_memory(mounts: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Returns the bytes of this machine, or of the least limit of the control groups around this process.

    Args:
        mounts: Where control groups are mounted, version 1 or 2.
        own: What names those of this process.
    """
    return memory_limit(mounts, own)
