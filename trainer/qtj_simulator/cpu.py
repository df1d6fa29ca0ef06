"""The number of threads that simulate."""

import os

from qtj_contract.control_groups import usable_processors

__all__ = ["default_threads"]

_MOST_THREADS = 256
"""The most threads that the native library of the fused engine supports."""


def default_threads() -> int:
    """Returns the number of threads that simulate: $OMP_NUM_THREADS, or the processors that this container may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    threads = int(wanted) if wanted.isdecimal() and int(wanted) else usable_processors()
    return min(threads, _MOST_THREADS)
