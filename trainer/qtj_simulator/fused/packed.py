"""The bytes of a plan, as graphs hold them and the native library reads them (`native/file.c`).

Little-endian:

    "QTJP", version, CRC-32 of all that follows: each 4 bytes
    how many constants, how many programs, how many integers each program has: each 4 bytes
    constants: 8 bytes each
    the integers of each program: 4 bytes each

A change of the meaning of a program (`program.py`) needs another version, here and in `native/file.c`.
"""

import struct
import zlib

from qtj_simulator.fused.program import CompiledPlan

__all__ = ["packed"]

_VERSION = 2


def packed(program: CompiledPlan) -> bytes:
    """Returns the bytes of a program."""
    sizes = [program.constants.size, len(program.integers), *(each.size for each in program.integers)]
    numbers = [program.constants.astype("<f8"), *(each.astype("<i4") for each in program.integers)]
    rest = struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(each.tobytes() for each in numbers)
    return struct.pack("<4s2I", b"QTJP", _VERSION, zlib.crc32(rest)) + rest
