"""A driver without a card: the kernels of the engine as C++, with blocks and threads as loops (`cuda/`)."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from qtj_simulator.fused import cuda
from qtj_simulator.fused.cuda import trust
from qtj_simulator.fused.cuda.driver import Card
from tests.missing import skip_or_fail

__all__ = ["StandIn", "build_stand_in", "pretended_card", "stand_in"]

_SOURCES = Path(__file__).with_name("cuda")
_KERNELS = Path(cuda.__file__).with_name("native")
_BUILT = "QTJ_TEST_STAND_INS"
"""A folder of stand-ins that were built already: with sanitizers."""


@dataclass(frozen=True)
class StandIn:
    """One precision of it.

    Attributes:
        library: The driver.
        bits: The bits of a real number.
    """

    library: Path
    bits: int

    def card(self) -> Card:
        """Opens its card."""
        return Card(str(self.library), lambda *_: b"")

    def number(self, name: str) -> int:
        """Calls a function of its own that returns a number."""
        return int(getattr(ctypes.CDLL(str(self.library)), f"stand_in_{name}")())

    def setting(self, name: str) -> int:
        """Returns what it pretends to be, or has counted."""
        return self._setting(name).value

    @contextmanager
    def with_setting(self, name: str, value: int) -> Iterator[None]:
        """Changes what it pretends to be, for a while."""
        setting = self._setting(name)
        before, setting.value = setting.value, value
        try:
            yield
        finally:
            setting.value = before

    def _setting(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.in_dll(ctypes.CDLL(str(self.library)), f"stand_in_{name}")


@contextmanager
def pretended_card(bits: int) -> Iterator[StandIn]:
    """A machine whose driver is the stand-in, and on which no card is trusted yet."""
    found = stand_in(bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QTJ_CUDA_DRIVER", str(found.library))
        patch.setattr(trust, "Card", lambda name, number: Card(name, lambda *_: b"", number))
        for known in (trust.opened_card, trust.trusted_card):
            known.cache_clear()
        yield found
        for known in (trust.opened_card, trust.trusted_card):
            known.cache_clear()


@cache
def stand_in(bits: int) -> StandIn:
    """Returns the stand-in of a precision; it is built once in a process."""
    folder = os.environ.get(_BUILT) or mkdtemp()
    return StandIn(build_stand_in(Path(folder), bits), bits)


def build_stand_in(folder: Path, bits: int, flags: Sequence[str] = ("-O1",)) -> Path:
    """Compiles it, unless the folder has it.

    Args:
        folder: Where to put it.
        bits: The bits of a real number.
        flags: More options of the compiler.

    Returns:
        The library.
    """
    library = folder / f"stand_in_{bits}.so"
    if library.exists():
        return library
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        skip_or_fail("needs a C++ compiler: install g++ or set CXX")
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-DBITS={bits}", *flags]
    options += ["-I", str(_KERNELS), "-I", str(_SOURCES), str(_SOURCES / "stand_in.cpp"), "-o", str(library)]
    subprocess.run([compiler, *options], check=True)
    return library
