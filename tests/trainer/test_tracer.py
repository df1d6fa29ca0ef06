"""The list of threads that replaces the one of TensorFlow's tracer."""

import ctypes
from pathlib import Path
from typing import ClassVar

import pytest

from qtj_simulator.fused.build import build_from, compiler
from qtj_trainer.tracer import SOURCE

GROW = (
    "_ZNSt6vectorIN3tsl8profiler15TraceMeRecorder12ThreadEventsESaIS3_EE17_M_realloc_insertIJS3_EEE"
    "vN9__gnu_cxx17__normal_iteratorIPS3_S5_EEDpOT_"
)
"""What TensorFlow 2.18 calls to append to a full list."""


class Thread(ctypes.Structure):
    """ThreadEvents of libstdc++: a number, a string that holds short texts within itself, and a queue of events."""

    _fields_: ClassVar = [
        ("id", ctypes.c_uint32),
        ("text", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("within", ctypes.c_char * 16),
        ("events", ctypes.c_uint64 * 10),
    ]

    @property
    def inside(self) -> int:
        return ctypes.addressof(self) + Thread.within.offset

    @property
    def name(self) -> bytes:
        return ctypes.string_at(self.text, self.length)


class Threads(ctypes.Structure):
    """A std::vector of them."""

    _fields_: ClassVar = [(name, ctypes.c_void_p) for name in ("first", "end", "limit")]

    def __getitem__(self, index: int) -> Thread:
        return Thread.from_address(self.first + index * ctypes.sizeof(Thread))


def thread(number: int, long: ctypes.Array[ctypes.c_char]) -> Thread:
    made = Thread(id=number, events=(ctypes.c_uint64 * 10)(*range(number, number + 10)))
    made.within = b"short"
    made.text, made.length = (made.inside, 5) if number % 2 else (ctypes.addressof(long), len(long.value))
    return made


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_a_list_of_threads_grows_and_leaves_their_events_where_they_are(tmp_path: Path) -> None:
    grow = getattr(ctypes.CDLL(str(build_from(SOURCE, tmp_path / "libqtj_tracer.so"))), GROW)
    threads, long = Threads(), ctypes.create_string_buffer(b"a name of more than fifteen letters")

    for number in range(600):
        added = thread(number, long)
        threads.limit = threads.end  # full, as whenever TensorFlow calls
        grow(ctypes.byref(threads), ctypes.c_void_p(threads.end), ctypes.byref(added))
        assert (added.name, list(added.events)) == (b"", [0] * 10)

    assert (threads.end - threads.first) // ctypes.sizeof(Thread) == 600
    for number in (0, 1, 255, 256, 257, 598, 599):
        kept = threads[number]
        assert (kept.id, list(kept.events)) == (number, list(range(number, number + 10)))
        assert kept.name == (b"short" if number % 2 else long.value)
        assert (kept.text == kept.inside) is bool(number % 2)
