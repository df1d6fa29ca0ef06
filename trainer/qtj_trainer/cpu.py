"""How many threads simulate."""

import os

from qtj_contract.cpu_limit import cpu_limit

__all__ = ["default_threads"]

_MOST_THREADS = 256
"""As many as the native library of the fused engine takes."""


def default_threads() -> int:
    """Returns the threads that simulate: $OMP_NUM_THREADS, or the processors this container may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted):
        threads = int(wanted)
    else:
        present = len(os.sched_getaffinity(0))
        threads = min(cpu_limit() or present, present)
    return min(threads, _MOST_THREADS)
