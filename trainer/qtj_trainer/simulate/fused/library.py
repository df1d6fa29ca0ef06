"""The native library: finding it, and its functions as Python sees them."""

import ctypes
import os
from functools import cache
from pathlib import Path

import numpy as np

from qtj_trainer.simulate.fused.gates import UnsupportedError

__all__ = ["FILE", "library"]

FILE = Path(os.environ.get("QTJ_FUSED_LIBRARY", Path(__file__).parent / "native" / "libqtj_fused.so"))
"""Where `python -m qtj_trainer.simulate.fused.build` and the wheels put it. $QTJ_FUSED_LIBRARY names another one."""

_INTEGERS = np.ctypeslib.ndpointer(np.int32, flags="C_CONTIGUOUS")
_DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_SENTENCE = ctypes.c_char_p
_ENGINE = ctypes.c_void_p

_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "qtj_lanes": (ctypes.c_int, [ctypes.c_char_p]),
    "qtj_variant": (ctypes.c_char_p, [ctypes.c_char_p]),
    "qtj_multiply_add": (ctypes.c_double, [ctypes.c_char_p, ctypes.c_long]),
    "qtj_create": (
        _SENTENCE,
        [
            _INTEGERS, ctypes.c_size_t, _DOUBLES, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t,
            ctypes.POINTER(_ENGINE),
        ],
    ),
    "qtj_destroy": (None, [_ENGINE]),
    "qtj_bytes": (ctypes.c_size_t, [_ENGINE]),
    "qtj_shared_bytes": (ctypes.c_size_t, []),
    "qtj_states": (ctypes.c_size_t, [_ENGINE, ctypes.c_long]),
    "qtj_keep": (None, [_ENGINE, ctypes.c_size_t]),
    "qtj_forward": (_SENTENCE, [_ENGINE, ctypes.c_long, _DOUBLES, _DOUBLES, ctypes.c_uint64, _DOUBLES]),
    "qtj_backward": (
        _SENTENCE,
        [_ENGINE, ctypes.c_long, _DOUBLES, _DOUBLES, ctypes.c_uint64, _DOUBLES, _DOUBLES, _DOUBLES],
    ),
}  # fmt: skip


@cache
def library(file: Path = FILE) -> ctypes.CDLL:
    """Loads the native library.

    Its functions release the interpreter lock while they run.

    Raises:
        UnsupportedError: If it was never built, or not for this machine.
    """
    try:
        loaded = ctypes.CDLL(str(file))
    except OSError as problem:
        raise UnsupportedError(
            "its native library is missing: install a wheel, or run python -m qtj_trainer.simulate.fused.build where"
            f" there is a C compiler ({problem})"
        ) from problem
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
