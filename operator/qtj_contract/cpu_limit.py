"""How many processors this container may use."""

from math import ceil
from pathlib import Path

__all__ = ["cpu_limit"]


def cpu_limit(cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Reads the CPU limit of the container, rounded up to whole processors.

    TensorFlow counts the processors of the node. A container that may use 2 of 64 would run 64 threads, and be halted
    by the kernel for most of each scheduling period.

    Args:
        cgroup: Where the control groups are mounted, version 2 or 1.

    Returns:
        The limit, or None when there is none.
    """
    quota, period = _version_2(cgroup) or _version_1(cgroup) or ("max", "")
    if not quota.isdecimal() or int(quota) == 0:  # "max" in version 2, -1 in version 1
        return None
    return ceil(int(quota) / int(period))


def _version_2(cgroup: Path) -> tuple[str, str] | None:
    words = _text(cgroup / "cpu.max").split()
    return (words[0], words[1]) if len(words) == 2 else None  # noqa: PLR2004  the file says "quota period"


def _version_1(cgroup: Path) -> tuple[str, str] | None:
    quota, period = (_text(cgroup / "cpu" / f"cpu.cfs_{word}_us") for word in ("quota", "period"))
    return (quota, period) if quota and period else None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
