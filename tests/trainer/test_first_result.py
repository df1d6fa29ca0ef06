"""What the first result of a circuit does not do: long algebra for short exponents, and slow pages."""

import ctypes
import mmap
import resource
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import cirq
import numpy as np
import pytest
import sympy

from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import Angle
from qtj_simulator.fused.library import FILE
from qtj_simulator.fused.plan import fused_circuit
from qtj_simulator.fused.reading import elementary
from qtj_simulator.fused.shape import Tuning
from qtj_simulator.specification import specified

HUGE, SMALL = 1 << 21, 1 << 12
CLOCK = ctypes.CFUNCTYPE(ctypes.c_double)
T = sympy.Symbol("t")


@pytest.mark.parametrize(
    ("gate", "slope"), [(cirq.X**T, 1.0), (cirq.X ** (-0.37 * T), -0.37), (cirq.rx(T), float(1 / np.pi))]
)
def test_an_exponent_of_one_symbol_needs_no_polynomial(
    gate: cirq.Gate, slope: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sympy, "Poly")
    (found,) = elementary(gate(cirq.LineQubit(0)))

    assert found.angle == Angle(0.0, (("t", slope),))


@pytest.mark.parametrize("seconds_of_huge", [0.5, 2.0])
def test_states_lie_in_the_pages_that_the_machine_gives_faster(seconds_of_huge: float) -> None:
    few = seconds_of_huge < 1.0
    if few and "[never]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        pytest.skip("this machine has no huge pages")
    pages = 16
    with mmap.mmap(-1, (pages + 1) * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        aligned = -(-start // HUGE) * HUGE
        chosen(aligned, pages * HUGE, iter([0.0, seconds_of_huge, 0.0, 1.0]))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        ctypes.memset(aligned, 1, pages * HUGE)
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    small = (pages - 2) * HUGE // SMALL
    assert taken < small // 2 if few else taken >= small


def chosen(address: int, size: int, clock: Iterator[float]) -> None:
    choose = ctypes.CDLL(str(FILE)).qtj_choose_pages
    choose.argtypes, choose.restype = [ctypes.c_void_p, ctypes.c_size_t, CLOCK], None
    choose(address, size, CLOCK(lambda: next(clock)))


def test_tiles_that_the_first_pass_leaves_out_are_those_that_hold_nothing() -> None:
    line, angle = cirq.LineQubit.range(8), sympy.Symbol("a")
    every = [(cirq.X**angle)(qubit) for qubit in line] + [(cirq.ZZ**angle)(*pair) for pair in pairwise(line)]
    readouts = [cirq.Z(qubit) * 1.0 for qubit in line]
    tuned = [Tuning(lanes(), examples_in_lanes=False, tile_bits=bits) for bits in (None, 2)]
    asked = specified(cirq.Circuit(every), readouts, weights=[angle])

    whole, tiled = (Engine(fused_circuit(asked).plan(each)).values(np.zeros((1, 0)), np.array([0.3])) for each in tuned)

    np.testing.assert_allclose(whole, np.cos(0.3 * np.pi) * np.ones((1, 8)), atol=1e-5)
    np.testing.assert_allclose(tiled, whole, atol=1e-6)
