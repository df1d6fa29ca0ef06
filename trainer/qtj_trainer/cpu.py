"""How many threads simulate."""

import os

from qtj_contract.control_groups import usable_processors

__all__ = ["default_threads"]

_MOST_THREADS = 256
"""As many as the native library of the fused engine takes."""


def default_threads() -> int:
    """Returns the threads that simulate: $OMP_NUM_THREADS, or the processors this container may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    threads = int(wanted) if wanted.isdecimal() and int(wanted) else usable_processors()
    return min(threads, _MOST_THREADS)
