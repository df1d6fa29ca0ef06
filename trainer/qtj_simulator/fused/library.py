"""The native library: finding it, and its functions as Python sees them."""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from qtj_simulator.fused.gates import UnsupportedError

__all__ = ["CALLS", "FILE", "OPERATIONS", "Pointers", "library", "pointers"]

FILE = Path(os.environ.get("QTJ_FUSED_LIBRARY", Path(__file__).parent / "native" / "libqtj_fused.so"))
"""Where `python -m qtj_simulator.fused.build` and the wheels put it. $QTJ_FUSED_LIBRARY names another one."""

OPERATIONS = FILE.with_name("libqtj_op.so")
"""The same as operations of TensorFlow, beside it."""

CALLS = FILE.with_name("libqtj_xla.so")
"""The same as custom calls of XLA, beside it."""

_DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_SENTENCE = ctypes.c_char_p


class Pointers(ctypes.Structure):
    """Arrays in one structure: `Symbols` of `native/qtj.h`, and `Slopes`, which has a third one."""

    _fields_: ClassVar = [(name, ctypes.c_void_p) for name in ("inputs", "weights", "upstream")]


def pointers(*arrays: NDArray[np.float64]) -> Pointers:
    """Returns the addresses of arrays, which must outlive them."""
    return Pointers(*(each.ctypes.data for each in arrays))


_CIRCUIT = ctypes.c_void_p

_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "qtj_lanes": (ctypes.c_int, [ctypes.c_char_p]),
    "qtj_multiply_add": (ctypes.c_double, [ctypes.c_char_p, ctypes.c_long]),
    "qtj_use_threads": (None, [ctypes.c_int]),
    "qtj_open": (
        _SENTENCE,
        [
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t,
            ctypes.POINTER(_CIRCUIT),
        ],
    ),
    "qtj_close": (None, [_CIRCUIT]),
    "qtj_rest": (None, [ctypes.c_int64]),
    "qtj_bytes": (ctypes.c_size_t, [_CIRCUIT]),
    "qtj_states": (ctypes.c_size_t, [_CIRCUIT, ctypes.c_long]),
    "qtj_keep": (None, [_CIRCUIT, ctypes.c_size_t]),
    "qtj_forward": (_SENTENCE, [_CIRCUIT, ctypes.c_long, _DOUBLES, _DOUBLES, _DOUBLES]),
    "qtj_final_states": (_SENTENCE, [_CIRCUIT, ctypes.c_long, _DOUBLES, _DOUBLES, _DOUBLES]),
    "qtj_backward": (_SENTENCE, [_CIRCUIT, ctypes.c_long, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES]),
    "qtj_curvature": (
        _SENTENCE,
        [_CIRCUIT, ctypes.c_long, ctypes.POINTER(Pointers), _DOUBLES, *[ctypes.POINTER(Pointers)] * 2],
    ),
    "qtj_shared_bytes": (ctypes.c_size_t, []),
    "qtj_lent": (ctypes.c_size_t, []),
    "qtj_free_memory": (ctypes.c_size_t, [ctypes.c_char_p] * 3),
    "qtj_assume_free": (None, [ctypes.c_int64]),
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
            "its native library is missing: install a wheel, or run python -m qtj_simulator.fused.build where"
            f" there is a C compiler ({problem})"
        ) from problem
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
