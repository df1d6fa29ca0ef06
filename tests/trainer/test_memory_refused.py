"""A call that needs more memory than is free is refused in a sentence, before the kernel ends the process."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cirq
import pytest
import tensorflow as tf

from qtj_contract import statevector_bytes
from qtj_contract.memory import Circuits, memory_of
from qtj_simulator import NoisyPQC
from qtj_simulator.fused.library import library
from qtj_simulator.fused.op import operations
from tests.trainer.fused_operation import operation
from tests.trainer.peak import REPOSITORY, limited

GRADIENT = "the fused engine: out of memory: the gradient of"
VALUE = "the fused engine: out of memory: the value of"


Results = dict[str, list[Any]]
"""By case, what the lines say."""


def run(*cases: str, group: Path | None = None) -> Results:
    """Returns the results of cases, in a control group if one is given."""
    joining = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"] if group else []
    ended = subprocess.run(
        [*joining, sys.executable, "-m", "tests.trainer.refused_for_memory", *cases],
        cwd=REPOSITORY, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    results: Results = json.loads(ended.stdout)
    return results


@pytest.fixture(scope="module")
def results() -> Results:
    """Those of all cases, in one process."""
    return run("of_qubits", "of_a_batch", "after_values", "without_a_stored_beginning")


def test_a_value_needs_one_state_and_a_gradient_two(results: Results) -> None:
    assert results["of_qubits"] == [
        f"{GRADIENT} 23 qubits needs 128 MiB more, and 98.4 MiB are free: 22 qubits would fit",
        "done",
        f"{GRADIENT} 24 qubits needs 256 MiB more, and 98.4 MiB are free: 22 qubits would fit",
        f"{VALUE} 24 qubits needs 128 MiB more, and 98.4 MiB are free: 23 qubits would fit",
    ]


def test_the_formula_of_a_job_counts_what_the_engine_takes_and_the_stored_beginning(results: Results) -> None:
    asked = memory_of(Circuits(qubits=24)).states - statevector_bytes(24)

    assert f"{GRADIENT} 24 qubits needs {asked >> 20} MiB more" in results["of_qubits"][2]


def test_where_some_examples_would_fit_it_says_how_many(results: Results) -> None:
    needs = "14 qubits needs 198 MiB more, and 98.4 MiB are free: 65536 of the 262144 examples would fit"

    assert results["of_a_batch"] == [f"{GRADIENT} {needs}", f"{VALUE} {needs}"]


def test_a_gradient_of_known_values_needs_one_state_more(results: Results) -> None:
    assert results["after_values"] == [
        f"{GRADIENT} 23 qubits needs 64 MiB more, and 49.2 MiB are free: 22 qubits would fit"
    ]


def test_a_beginning_that_does_not_fit_is_computed_again_with_the_same_bits(results: Results) -> None:
    """A state of 22 qubits has 32 MiB."""
    assert results["without_a_stored_beginning"] == [32, True]


def test_a_process_with_a_small_limit_is_told_and_not_killed() -> None:
    with limited(560 << 20) as group:
        gradient, value = run("with_what_is_free", group=group)["with_what_is_free"]

    needs = "25 qubits needs 512 MiB more, and [0-9.]+ MiB are free: 24 qubits would fit"
    assert re.fullmatch(f"{GRADIENT} {needs}", gradient)
    assert value == "done"


@pytest.fixture
def little() -> Iterator[None]:
    library().qtj_assume_free(100 << 20)
    yield
    library().qtj_assume_free(-1)


@pytest.mark.usefixtures("little")
def test_operations_of_tensorflow_say_the_same() -> None:
    compute, inputs, weights = operation(25), tf.zeros([1, 25]), tf.zeros([21])
    library_of, attributes = operations(), compute.attributes
    upstream = tf.ones([1, int(compute(tf.zeros([0, 25]), weights).shape[1])])

    for call in (
        partial(compute, inputs, weights),
        partial(library_of.qtj_expectation_grad, inputs, weights, upstream, **attributes),
        partial(library_of.qtj_expectation_grad_grad, inputs, weights, upstream, inputs + 1, weights, **attributes),
    ):
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"of 25 qubits needs .*: 2. qubits would fit"):
            call()


@pytest.mark.usefixtures("little")
def test_a_noisy_circuit_that_does_not_fit_is_told_what_would() -> None:
    line = cirq.LineQubit.range(22)
    beside = [cirq.CNOT(*pair) for pair in itertools.pairwise(line)]
    circuit = cirq.Circuit(cirq.H(line[0]), beside, cirq.depolarize(0.1)(line[-1]))

    with pytest.raises(tf.errors.ResourceExhaustedError) as refused:
        NoisyPQC(circuit, cirq.Z(line[-1]), trajectories=4)(tf.zeros([1, 0]))

    assert "out of memory: a batch of 1 noisy circuits of 22 qubits needs" in str(refused.value)
    assert "are free: take fewer examples or trajectories, or " in str(refused.value)
