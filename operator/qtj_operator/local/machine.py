"""What this process may use of this machine: a container's limits count, not what the machine has."""

import os

__all__ = ["usable_memory", "usable_processors"]


def usable_memory() -> int:
    """Returns the bytes of memory of this machine, or the limit of the control group where that is less."""
    # Imported here, for importing the trainer's package sets variables of TensorFlow.
    from qtj_trainer.cpu import memory_limit  # noqa: PLC0415

    present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(present, memory_limit() or present)


def usable_processors() -> int:
    """Returns the processors that this process may run on, or the limit of the control group where that is less."""
    from qtj_trainer.cpu import cpu_limit  # noqa: PLC0415

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, cpu_limit() or allowed)
