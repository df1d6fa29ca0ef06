"""A damaged plan, or one of another version, is refused with a sentence, and no plan makes the engine crash."""

import ctypes
import struct
import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qtj_simulator.fused.library import library
from qtj_simulator.fused.program import CompiledPlan, compile_plans, packed
from tests.trainer.test_fused_native import plan_of

Array = NDArray[Any]

APPLY, OP_INTS = 0, 7
TOGETHER, NEXT_BUFFER = 4, 8
READOUTS, WEIGHTS, INPUTS = 13, 14, 15
VERSION, CHECKSUM, START = 4, 8, 12

DAMAGED = "the plan is damaged"
OTHER_VERSION = "the plan was made for another version of the library: plan the circuit again with this one"
OTHER_VECTORS = "the plan has no program for the vectors of this processor: plan the circuit here"


@cache
def program(qubits: int = 6, **options: Any) -> tuple[Array, Array]:
    """Constants and integers."""
    compiled = compile_plans([plan_of(qubits, **options)])
    return compiled.constants, compiled.integers[0]


def run(integers: Array, constants: Array) -> str:
    """Takes a program through its whole life; the answer is what the engine complains of."""
    sizes = [int(integers[at]) if integers.size > at else 0 for at in (INPUTS, WEIGHTS, READOUTS)]
    return run_bytes(packed(CompiledPlan(constants, (integers,))), *sizes)


def run_bytes(data: bytes, inputs: int = 6, weights: int = 21, readouts: int = 5, batch: int = 3) -> str:
    circuit = ctypes.c_void_p()
    native = library()
    problem = native.qtj_open(data, len(data), -1, b"", 2, 1 << 16, ctypes.byref(circuit))
    if problem:
        return str(problem.decode())
    given, learned, values = np.zeros((batch, inputs)), np.zeros(weights), np.zeros((batch, readouts))
    problem = native.qtj_forward(circuit, batch, given, learned, values) or native.qtj_backward(
        circuit, batch, given, learned, values, np.empty_like(given), np.empty_like(learned)
    )
    native.qtj_close(circuit)
    return problem.decode() if problem else ""


def sealed(data: bytearray) -> bytes:
    """With the right checksum, as whoever means harm would have it."""
    struct.pack_into("<I", data, CHECKSUM, zlib.crc32(data[START:]))
    return bytes(data)


@cache
def whole() -> bytes:
    """For many examples and for few."""
    return packed(compile_plans([plan_of(6, examples_in_lanes=True), plan_of(6, examples_in_lanes=False)]))


def test_bytes_as_they_should_be_run() -> None:
    assert run_bytes(whole()) == ""


def test_no_changed_byte_is_overlooked() -> None:
    answers = []
    for place in range(len(whole())):
        data = bytearray(whole())
        data[place] ^= 1 << place % 8
        answers.append(run_bytes(bytes(data)))

    assert set(answers[VERSION:CHECKSUM]) == {OTHER_VERSION}
    assert set(answers[:VERSION] + answers[CHECKSUM:]) == {DAMAGED}


def test_no_missing_byte_is_overlooked() -> None:
    assert {run_bytes(whole()[:end]) for end in range(len(whole()))} == {DAMAGED}
    assert run_bytes(whole() + bytes(4)) == DAMAGED


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    changes=st.lists(st.tuples(st.integers(START, 4 * START), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.integers(0, 40) | st.just(0),
)
def test_sizes_that_claim_something_else_are_refused_or_harmless(changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(whole())
    for place, value in changes:
        data[place] = value

    answer = run_bytes(sealed(data[: len(data) - cut]))

    assert answer in {"", DAMAGED, OTHER_VECTORS, "out of memory"}


def test_a_plan_for_other_vectors_alone_is_refused() -> None:
    lanes = library().qtj_lanes(b"")
    constants, integers = program(9, examples_in_lanes=False)
    other = integers.copy()
    other[LANE_BITS] = 2 if lanes != 4 else 3

    assert run(other, constants) == OTHER_VECTORS


def test_programs_of_different_circuits_are_refused() -> None:
    assert run_bytes(packed(compile_plans([plan_of(6), plan_of(7)]))) == DAMAGED


def test_a_program_as_it_should_be_runs() -> None:
    constants, written = program()

    assert run(written, constants) == ""


def test_a_program_cut_short_is_refused_wherever_it_is_cut() -> None:
    constants, written = program()

    answers = {run(written[:end].copy(), constants) for end in range(written.size)}

    assert answers == {DAMAGED}


def test_constants_that_are_missing_are_missed() -> None:
    constants, written = program()

    assert run(written, constants[:-40].copy()) == DAMAGED


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(-3, 40) | st.integers(-(2**31), 2**31 - 1)),
                     min_size=1, max_size=4),
    tiled=st.booleans(),
)  # fmt: skip
def test_a_damaged_program_is_refused_or_harmless(changes: list[tuple[int, int]], *, tiled: bool) -> None:
    constants, written = program(9, examples_in_lanes=False, tile_bits=3) if tiled else program()
    integers = written.copy()
    for place, value in changes:
        if place % integers.size > 3:  # the sizes of a state are tried below: a large one is harmless, but large
            integers[place % integers.size] = value

    assert run(integers, constants) in {"", DAMAGED, "out of memory"}


QUBITS_IN_LANES, LANE_BITS, VECTOR_BITS, TILE_BITS = range(4)


@pytest.mark.parametrize("tiled", [True, False])
@pytest.mark.parametrize(
    ("place", "values"),
    [
        (QUBITS_IN_LANES, [2, -1]),
        (LANE_BITS, [0, 1, 5, 31, -1]),
        (VECTOR_BITS, [0, 1, 31, -1, 2**31 - 1]),
        (TILE_BITS, [0, 1, 31, -1, 12]),
    ],
)
def test_a_state_of_another_size_is_refused(place: int, values: list[int], *, tiled: bool) -> None:
    constants, written = program(9, examples_in_lanes=False, tile_bits=3 if tiled else None)

    for value in values:
        integers = written.copy()
        integers[place] = value
        assert run(integers, constants) in {DAMAGED, OTHER_VECTORS}, value


def test_a_state_of_nearly_the_same_size_is_refused_too() -> None:
    constants, written = program(9, examples_in_lanes=False, tile_bits=3)
    for place, by in ((VECTOR_BITS, -1), (TILE_BITS, 1), (TILE_BITS, -1)):
        integers = written.copy()
        integers[place] += by

        assert run(integers, constants) == DAMAGED


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (TOGETHER | NEXT_BUFFER, {"examples_in_lanes": False, "tile_bits": 3}),  # a state in tiles has no buffers
        (NEXT_BUFFER, {}),  # a block that starts a layer belongs to it
        (TOGETHER, {}),  # a layer starts somewhere
    ],
)
def test_layers_that_cannot_be_are_refused(flags: int, options: dict[str, Any]) -> None:
    plan = plan_of(9, **options)
    integers = compile_plans([plan]).integers[0].copy()
    operations = integers[-OP_INTS * (len(plan.passes[-1].nodes) + len(plan.passes[-1].swaps)) :].reshape(-1, OP_INTS)
    operations[operations[:, 0] == APPLY, -1] &= ~(TOGETHER | NEXT_BUFFER)
    blocks = np.flatnonzero(operations[:, 0] == APPLY)
    assert run(integers, compile_plans([plan]).constants) == ""

    operations[blocks[-1], -1] |= flags

    assert run(integers, compile_plans([plan]).constants) == DAMAGED


def curvature_of(data: bytes) -> str:
    """What the engine says of second derivatives along the inputs and the weights."""
    circuit = ctypes.c_void_p()
    native = library()
    assert not native.qtj_open(data, len(data), -1, b"", 2, 1 << 16, ctypes.byref(circuit))
    (inputs, weights), upstream = (np.zeros((1, 6)), np.zeros(21)), np.ones((1, 5))
    along, out = (np.ones_like(inputs), np.ones_like(weights)), [np.zeros_like(each) for each in (inputs, weights)]
    at, rates, slopes = (
        (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        for arrays in ((inputs, weights), along, (*out, np.zeros_like(upstream)))
    )
    function = native["qtj_curvature"]  # not the one that others use
    function.restype = ctypes.c_char_p
    problem = function(circuit, ctypes.c_long(1), at, ctypes.c_void_p(upstream.ctypes.data), rates, slopes)
    native.qtj_close(circuit)
    return str(problem.decode()) if problem else ""


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_eigenvalue_that_is_no_number_has_no_second_derivative(value: float) -> None:
    constants, integers = program()
    refused = "a gate has an eigenvalue that is no finite number"
    answers = set()
    for place in range(min(len(constants), 200)):
        changed = constants.copy()
        changed[place] = value
        answers.add(curvature_of(packed(CompiledPlan(changed, (integers,)))))

    assert curvature_of(packed(CompiledPlan(constants, (integers,)))) == ""
    assert refused in answers
