"""What the kernel of this machine can do for `qtj run`."""

import ctypes
import platform

__all__ = ["ends_with_its_parent"]

_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER = 2, 37
"""prctl(2)."""


def ends_with_its_parent() -> bool:
    """Tells whether this kernel can end a process with its parent, and give orphans to a process that asks for them."""
    if platform.system() != "Linux":
        return False
    prctl, value = ctypes.CDLL(None).prctl, ctypes.c_int()
    return all(prctl(option, ctypes.byref(value)) == 0 for option in (_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER))
