"""The native trajectories: all instruction sets agree, and no damaged program makes the process crash."""

import ctypes
from typing import Any

import cirq
import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from qtj_simulator.fused.library import library
from qtj_simulator.fused.observables import read
from qtj_simulator.fused.op import operations
from qtj_simulator.noise.circuit import noisy_circuit
from qtj_simulator.noise.program import Program, compile_program
from qtj_simulator.noise.unitaries import Unitaries
from tests.trainer.noisy_circuits import random_circuit
from tests.trainer.test_fused_exact import VARIANTS

Array = NDArray[Any]

DAMAGED = "the program of the noisy circuit is damaged"


class Given(ctypes.Structure):
    """`Trajectories` of native/trajectories.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("program", "branches")),
        *((name, ctypes.c_size_t) for name in ("integers", "branch_numbers")),
        *((name, ctypes.c_long) for name in ("rows", "trajectories", "blocks", "channels")),
        *((name, ctypes.c_void_p) for name in ("matrices", "uniforms", "upstream", "values", "by_matrices")),
    )


Compiled = tuple[Program, Array, int]
"""A program, the matrices of its blocks for each row, and how many terms it has."""


def program_of(circuit: cirq.Circuit, readouts: list[Any], rows: int = 1) -> Compiled:
    noisy = noisy_circuit(circuit, tuple(readouts))
    terms = read(readouts, noisy.number).terms
    matrices = Unitaries(noisy.blocks, ()).matrices(tf.zeros((rows, 0), tf.float64)).numpy()
    return compile_program(noisy, terms), matrices, len(terms)


def compiled(seed: int) -> Compiled:
    return program_of(*random_circuit(seed))


def arrays_for(program: Program, matrices: Array, terms: int, trajectories: int) -> dict[str, Array]:
    """What the library reads and writes, in its order, for so many trajectories of three rows."""
    random = np.random.default_rng(1)
    rows, channels = 3, int(program.integers[2])
    return {
        "program": program.integers,
        "branches": program.branches,
        "matrices": np.repeat(matrices, rows, axis=0),
        "uniforms": random.uniform(size=(rows, trajectories, max(0, min(channels, 1000)))).astype(np.float32),
        "upstream": random.normal(size=(rows, trajectories, terms)).astype(np.float32),
        "values": np.zeros((rows, trajectories, terms), np.float32),
        "by_matrices": np.zeros((rows, *matrices.shape[1:]), np.float32),
    }


def run(
    program: Program, matrices: Array, terms: int, *, variant: str = "", trajectories: int = 21, threads: int = 2
) -> tuple[str, Array, Array]:
    """The problem, values and gradients of so many trajectories of three rows, in two calls as TensorFlow does it."""
    arrays = arrays_for(program, matrices, terms, trajectories)
    problem = ""
    for unused in ({"upstream", "by_matrices"}, {"values"}):
        given = {name: array for name, array in arrays.items() if name not in unused}
        problem = problem or called(given, variant=variant, threads=threads)
    return problem, arrays["values"], arrays["by_matrices"]


def called(arrays: dict[str, Array], *, variant: str, threads: int) -> str:
    """Calls the library with these arrays, and no others; returns the problem."""
    shape = dict(zip(("rows", "trajectories", "channels"), arrays["uniforms"].shape, strict=True))
    sizes = {"integers": arrays["program"].size, "branch_numbers": arrays["branches"].size}
    given = {name: array.ctypes.data for name, array in arrays.items()}
    call = library().qtj_trajectories
    call.restype = ctypes.c_char_p
    blocks = arrays["matrices"].shape[1]
    problem = call(variant.encode(), threads, ctypes.byref(Given(**sizes, **shape, **given, blocks=blocks)))
    return problem.decode() if problem else ""


@pytest.mark.parametrize("trajectories", [1, 5, 21, 150])
@pytest.mark.parametrize("variant", VARIANTS)
def test_instruction_sets_agree(variant: str, trajectories: int) -> None:
    case = compiled(3)

    problem, values, by_matrices = run(*case, variant=variant, trajectories=trajectories)

    _, expected, expected_by_matrices = run(*case, variant="baseline", trajectories=trajectories, threads=1)
    assert problem == ""
    np.testing.assert_allclose(values, expected, atol=2e-5)
    np.testing.assert_allclose(by_matrices, expected_by_matrices, atol=2e-4)


def test_gradients_are_those_of_the_values() -> None:
    line = cirq.LineQubit.range(4)
    gates = cirq.testing.random_circuit(line, 6, 0.9, random_state=1)
    noisy = gates.with_noise(cirq.asymmetric_depolarize(0.1, 0.2, 0.3))
    readouts = [cirq.Z(line[0]), cirq.X(line[1]) * cirq.Y(line[3])]
    program, matrices, _ = program_of(noisy, readouts)
    direction = np.random.default_rng(2).normal(size=matrices.shape).astype(np.float32)

    _, _, by_matrices = run(program, matrices, 2)

    random, step = np.random.default_rng(1), 1e-2
    random.uniform(size=(3, 21, int(program.integers[2])))
    upstream = random.normal(size=(3, 21, 2))
    ends = [run(program, matrices + np.float32(way * step) * direction, 2)[1] for way in (1, -1)]
    slope = np.sum(upstream * (ends[0] - ends[1])) / (2 * step)
    assert np.sum(by_matrices * direction) == pytest.approx(slope, rel=0.05)


def test_no_damaged_program_crashes() -> None:
    program, matrices, terms = compiled(2)
    random = np.random.default_rng(0)
    answers = set()
    for _ in range(2000):
        integers = program.integers.copy()
        at = random.integers(0, integers.size, random.integers(1, 4))
        integers[at] = random.choice([-1, 0, 1, 2, 3, 7, 24, 255, 1 << 20, (1 << 31) - 1, -(1 << 31)], at.size)
        if integers[0] != program.integers[0] or integers[4] != program.integers[4]:
            continue  # these are what the caller takes its memory by
        answers.add(run(Program(integers, program.branches), matrices, terms, trajectories=3)[0])

    assert answers <= {"", DAMAGED}
    assert DAMAGED in answers


@pytest.mark.parametrize("length", [0, 5, 6, 30])
def test_a_program_that_ends_early_is_damaged(length: int) -> None:
    program, matrices, terms = compiled(2)
    short = np.zeros(3, np.int32) if length == 0 else program.integers[:length]

    problem, _, _ = run(Program(np.ascontiguousarray(short), program.branches), matrices, terms)

    assert problem == DAMAGED


def test_the_operation_names_what_is_wrong() -> None:
    program, matrices, terms = compiled(2)
    channels = int(program.integers[2])
    right = {"matrices": matrices, "uniforms": np.zeros((1, 4, channels), np.float32)}
    values = operations().qtj_trajectories(program.integers, program.branches, **right)
    assert values.shape == (1, 4, terms)

    for wrong, message in (
        ({"matrices": matrices[..., :31]}, r"must have the shape \(rows, blocks, 32\)"),
        ({"uniforms": np.zeros((2, 4, channels), np.float32)}, r"must have the shape \(1, trajectories, channels\)"),
        ({"uniforms": np.zeros((1, 4, channels + 1), np.float32)}, DAMAGED),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            operations().qtj_trajectories(program.integers, program.branches, **{**right, **wrong})
