"""Workers that take whole steps, because a step is shorter than an exchange, and follow their leader."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from qtj_contract.memory import Circuits
from qtj_trainer.loop.independent_steps import IndependentSteps
from qtj_trainer.loop.loop import Numbers
from qtj_trainer.loop.task import Task
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions, takes_whole_steps
from tests.trainer.processes import Trainer
from tests.trainer.test_curves import QCNN, options_of

SHARED = ("train", "qcnn", "--qubits=8", "--filters=8", "--batch-size=80", "--epochs=2")
"""Larger steps than those of the example, so that workers share them."""

FIRST = """
import os
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.strategy import leave_together, start_tensorflow

cluster = Cluster.from_environment(os.environ)
strategy, _ = start_tensorflow(cluster)

import numpy as np
import tensorflow as tf
from qtj_trainer.loop.independent_steps import of_first

mine = np.array([-1e-300, 0.1, np.inf]) if cluster.leads else np.array([2.0, np.nan, 4.0])
taken = tf.function(lambda each: strategy.run(of_first, args=(each,)))(mine)
print("taken", *strategy.experimental_local_results(taken)[0].numpy().tolist(), flush=True)
leave_together(strategy, cluster)
"""


@pytest.mark.parametrize(
    "circuits",
    [
        Circuits(qubits=8, batch=32),
        Circuits(qubits=12, batch=32, buffers=1),
        Circuits(qubits=11, batch=32, buffers=8),
        Circuits(qubits=8, batch=64, filters=8),
        Circuits(qubits=16, batch=2),
    ],
)
def test_short_steps_are_whole(circuits: Circuits) -> None:
    assert takes_whole_steps(circuits)


@pytest.mark.parametrize(
    "circuits",
    [
        Circuits(qubits=12, batch=33, buffers=1),
        Circuits(qubits=12, batch=32, buffers=8),
        Circuits(qubits=12, batch=32, amplitude_bytes=16),
        Circuits(qubits=8, batch=80, filters=8),
        Circuits(qubits=23),
        Circuits(qubits=4, tfq=True),
    ],
)
def test_longer_steps_are_shared(circuits: Circuits) -> None:
    assert not takes_whole_steps(circuits)


def test_a_replica_that_takes_whole_steps_needs_memory_for_the_whole_batch() -> None:
    short, long = QcnnOptions(batch_size=64), QcnnOptions(qubits=16, batch_size=64)

    ours, shared = (Qcnn().memory(each, replicas=2) for each in (short, long))
    alone, whole = (Qcnn().memory(each) for each in (short, long))

    assert ours.keepable == alone.keepable
    assert shared.keepable == whole.keepable // 2


def test_a_follower_takes_the_numbers_and_the_weights_of_the_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = apart(options_of(epochs=1))
    before = loop.state()
    asked: list[Numbers] = []

    def other_leader(mine: Numbers) -> tf.Tensor:
        asked.append(mine)
        return tf.constant(np.concatenate([[0.25, 0.5, 0.75], mine[3:] + 1]))

    monkeypatch.setattr(loop, "of_leader", other_leader)

    assert loop.validate() == (0.25, {"mse": 0.5, "signAccuracy": 0.75})
    assert [each.size for each in asked] == [3 + sum(each.size for each in before)]
    for ours, mine in zip(loop.state(), before, strict=True):
        assert ours.dtype == mine.dtype
        np.testing.assert_array_equal(ours, mine + 1)


def apart(options: QcnnOptions) -> IndependentSteps:
    return IndependentSteps(Task.of(QCNN, options), tf.distribute.get_strategy())


def test_both_workers_get_the_numbers_of_the_leader_as_they_are(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "first.py"
    program.write_text(FIRST)

    ended = [each.end() for each in trainer.start_programs(2, program)]

    assert [each.code for each in ended] == [0, 0], ended[0].errors
    assert [each.output.strip().splitlines()[-1] for each in ended] == ["taken -1e-300 0.1 inf"] * 2


@pytest.mark.slow
def test_workers_share_longer_steps_and_compute_what_one_computes(trainer: Trainer, tmp_path: Path) -> None:
    alone = trainer.run(*SHARED, "--artifacts", str(tmp_path / "alone"))
    leader, follower = trainer.run_cluster(2, *SHARED, "--artifacts", str(tmp_path / "two"))

    assert [each.code for each in (alone, leader, follower)] == [0, 0, 0], leader.errors
    assert "takes whole steps" not in leader.output
    assert leader.metrics == pytest.approx(alone.metrics, abs=1e-3)
    assert leader.weights.sha256 != alone.weights.sha256  # rounding differs with the order of sums
