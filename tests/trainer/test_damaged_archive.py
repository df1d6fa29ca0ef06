"""An archive of examples that is damaged in any way is refused with a sentence, and never with a traceback."""

import io
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.workloads.own_data import read_npz

LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
"""What begins the entry of a member, and its line in the table of contents."""


def good(save: Callable[..., None] = np.savez) -> bytes:
    file = io.BytesIO()
    random = np.random.default_rng(0)
    save(file, angles=random.uniform(-1, 1, (200, 8)), labels=np.tile([1.0, -1.0], 100))
    return file.getvalue()


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return file.getvalue()


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def damaged(data: bytes, places: range) -> bytes:
    changed = bytearray(data)
    for place in places:
        changed[place] ^= 0x77
    return bytes(changed)


def marked(data: bytes, before: bytes, offset: int, value: int) -> bytes:
    """Sets a field of every entry."""
    changed = bytearray(data)
    for found in re.finditer(re.escape(before), data):
        changed[found.start() + offset] = value
    return bytes(changed)


LABELS = array(np.tile([1, 0], 10))
HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 8), }\n"
OPEN = b"{'descr': (((((, 'fortran((((((\n"
LZMA = archive({"angles.npy": array(np.eye(20, 8)), "labels.npy": LABELS}, zipfile.ZIP_LZMA)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (damaged(good(np.savez_compressed), range(200, 400)), r" cannot be read \(Error -3 while decompressing"),
        (damaged(LZMA, range(80, 140)), r" cannot be read \(Corrupt input data\)"),
        (marked(marked(good(), LOCAL, 6, 1), CENTRAL, 8, 1), r" cannot be read \(File 'angles.npy' is encrypted"),
        (marked(good(), CENTRAL, 10, 99), r" cannot be read \(That compression method is not supported\)"),
        (
            archive({"angles.npy": npy(HUGE), "labels.npy": LABELS}),
            r" cannot be read \((Unable to allocate|EOF: )",
        ),
        (archive({"angles.npy": npy(OPEN), "labels.npy": LABELS}), r" cannot be read \("),
        (archive({"angles.npy": b"hello", "labels.npy": b"hi"}), " has angles that are no array"),
        (archive({"angles": b"hello", "labels": b"hi"}), " has angles that are no array"),
    ],
    ids=["deflate", "lzma", "encrypted", "method", "huge", "header", "no array", "no suffix"],
)
def test_damage_is_reported(data: bytes, why: str) -> None:
    with pytest.raises(UserError, match=f"^a.npz{why}.*: it must hold the arrays angles and labels") as refused:
        read_npz("a.npz", data)

    assert "\n" not in str(refused.value)


def test_bytes_changed_anywhere_are_no_traceback() -> None:
    random = np.random.default_rng(0)
    whole = [good(), good(np.savez_compressed)]
    refused = 0
    for number in range(1000):
        data = bytearray(whole[number % 2])
        for place in random.integers(len(data), size=5):
            data[place] = random.integers(256)
        try:
            read_npz("a.npz", bytes(data))
        except UserError:
            refused += 1

    assert refused > 500
