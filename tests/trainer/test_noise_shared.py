"""The usual path, which many trajectories share: each has the values that it has on its own."""

from typing import Any

import cirq
import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_simulator.noise.program import Program
from tests.trainer.noisy_circuits import random_circuit
from tests.trainer.test_fused_exact import VARIANTS
from tests.trainer.test_noise_native import Compiled, called, program_of

Array = NDArray[Any]
LINE = cirq.LineQubit.range(3)
READOUTS: list[Any] = [cirq.Z(LINE[0]), cirq.X(LINE[0]) * cirq.Y(LINE[1]), cirq.Y(LINE[2])]
ROWS, MANY, FEW = 2, 300, 10
"""So many trajectories of a row share a path with vectors of any width, and so few do not."""


def values(case: Compiled, uniforms: Array, *, variant: str = "", threads: int = 2) -> Array:
    """The values of trajectories with these random numbers."""
    program, matrices, terms = case
    made = np.full((*uniforms.shape[:2], terms), np.nan, np.float32)
    arrays = {"program": program.integers, "branches": program.branches, "matrices": matrices, "values": made}
    assert called(arrays | {"uniforms": np.ascontiguousarray(uniforms)}, variant=variant, threads=threads) == ""
    return made


def random_numbers(program: Program, seed: int = 0) -> Array:
    """Most of them have channels take their first branch."""
    uniforms = np.random.default_rng(seed).uniform(size=(ROWS, MANY, int(program.integers[2])))
    return (uniforms**4).astype(np.float32)


def on_their_own(case: Compiled, uniforms: Array, **options: Any) -> Array:
    parts = [values(case, uniforms[:, start : start + FEW], **options) for start in range(0, MANY, FEW)]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(7))
def test_a_trajectory_has_the_values_that_it_has_alone(seed: int, variant: str) -> None:
    case = program_of(*random_circuit(seed), ROWS)
    uniforms = random_numbers(case[0])

    together = values(case, uniforms, variant=variant)

    np.testing.assert_allclose(together, on_their_own(case, uniforms, variant=variant), atol=5e-5)


CERTAIN: dict[str, list[Any]] = {
    "never the first branch": [cirq.X(LINE[0]), cirq.KrausChannel([np.diag([1, 0]), np.diag([0, 1])])(LINE[0])],
    "always the first branch": [cirq.I(LINE[0]), cirq.KrausChannel([np.diag([1, 0]), np.diag([0, 1])])(LINE[0])],
    "damped completely": [cirq.ry(0.4).on_each(*LINE), cirq.amplitude_damp(1.0).on_each(*LINE)],
    "not damped": [cirq.ry(0.4).on_each(*LINE), cirq.amplitude_damp(0.0).on_each(*LINE)],
    "flipped": [cirq.ry(0.4).on_each(*LINE), cirq.bit_flip(1.0).on_each(*LINE)],
    "not flipped": [cirq.ry(0.4).on_each(*LINE), cirq.bit_flip(0.0).on_each(*LINE)],
    "reset": [cirq.ry(0.4).on_each(*LINE), cirq.reset_each(*LINE)],
}


@pytest.mark.parametrize("certain", CERTAIN)
@pytest.mark.parametrize("place", ["first", "later"])
def test_channels_with_certain_branches_are_no_exception(certain: str, place: str) -> None:
    turned = [cirq.ry(0.3).on_each(*LINE), cirq.CNOT(*LINE[:2]), cirq.CZ(*LINE[1:])]
    noise = [turned, cirq.depolarize(0.1).on_each(*LINE), cirq.amplitude_damp(0.2).on_each(*LINE), turned]
    undone = cirq.inverse(cirq.Circuit(turned))
    parts = [CERTAIN[certain], noise] if place == "first" else [turned, undone, CERTAIN[certain], noise]
    case = program_of(cirq.Circuit(parts), READOUTS, ROWS)
    uniforms = random_numbers(case[0])

    together = values(case, uniforms)

    np.testing.assert_allclose(together, on_their_own(case, uniforms), atol=5e-5)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-24])
def test_all_trajectories_may_do_the_same(uniform: float) -> None:
    case = program_of(*random_circuit(5), ROWS)
    uniforms = np.full_like(random_numbers(case[0]), uniform)

    together = values(case, uniforms)

    np.testing.assert_array_equal(together, np.repeat(together[:, :1], MANY, axis=1))
    np.testing.assert_allclose(together[:, :FEW], values(case, uniforms[:, :FEW]), atol=5e-5)


def test_threads_and_neighbours_do_not_change_a_value() -> None:
    case = program_of(*random_circuit(6), ROWS)
    uniforms = random_numbers(case[0])

    one, three = (values(case, uniforms, threads=threads) for threads in (1, 3))

    np.testing.assert_array_equal(one, three)


def test_rows_too_many_to_store_a_state_of_each_are_not_shared() -> None:
    """600 states of 12 qubits are more than the 16 MiB that are stored."""
    line, rows = cirq.LineQubit.range(12), 600
    circuit = cirq.Circuit(cirq.H.on_each(*line), cirq.CNOT(line[0], line[11]), cirq.phase_flip(0.25)(line[11]))
    program, matrices, terms = program_of(circuit, [cirq.X(line[11])])
    uniforms = np.tile(np.linspace(0, 0.99, 32, dtype=np.float32).reshape(1, 32, 1), (rows, 1, 1))

    found = values((program, np.repeat(matrices[:1], rows, axis=0), terms), uniforms, variant="baseline")

    np.testing.assert_allclose(found, np.where(uniforms < 0.75, 1, -1), atol=1e-5)
