"""What kernels are given: `native/call.h` as Python sees it."""

import ctypes
from typing import ClassVar

__all__ = ["Call"]

_ADDRESSES = (
    "program", "constants", "kind_at", "head_at", "kind_slot", "head_slot", "inside", "shared", "example", "upstream",
    "unitary", "pulled", "coefficients", "head_unitary", "observable", "source", "psi", "lambda_", "sums", "totals",
    "values", "kind_slopes", "head_slopes", "shared_gradient", "example_gradient", "source_stride",
)  # fmt: skip
_NUMBERS = (
    "gates_at", "blocks_at", "pairs_at", "terms_at", "strings_at", "offsets_at", "pass_at", "kinds", "heads", "pairs",
    "terms", "strings", "readouts", "shared_angles", "example_angles", "kind_slots", "head_slots", "qubits",
    "tile_bits", "examples", "slices", "width", "fold_from", "fold_to",
)  # fmt: skip


class Call(ctypes.Structure):
    """Addresses on the card, then sizes and places in the program."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint64) for name in _ADDRESSES),
        *((name, ctypes.c_int) for name in _NUMBERS),
    ]
