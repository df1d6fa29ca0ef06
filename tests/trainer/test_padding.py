"""Padding keeps batches in one shape, and costs no computation."""

from typing import Self

import numpy as np
import pytest
import tensorflow as tf

from qtj_simulator.fused.op import FusedOp
from qtj_trainer.loop.batches import Batch, batches
from qtj_trainer.loop.synchronous import Synchronous
from qtj_trainer.loop.task import Task
from qtj_trainer.stored.position import Position
from qtj_trainer.workloads import Examples
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

TRAINING, HELD_OUT = 22, 10
"""Of 4 qubits and 8 rounds."""


class Counted:
    """Counts the circuits that reach the engine."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[int] = []
        values = FusedOp.__call__

        def counted(op: FusedOp, inputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
            tf.numpy_function(lambda size: self.calls.append(int(size)), [tf.shape(inputs)[0]], [])
            return values(op, inputs, weights)

        patch.setattr(FusedOp, "__call__", counted)

    def train(self, batch_size: int) -> Self:
        """Takes one epoch and its scoring."""
        qcnn, options = Qcnn(), QcnnOptions(qubits=4, rounds=8, epochs=1, batch_size=batch_size)
        loop = Synchronous(Task.of(qcnn, options), tf.distribute.get_strategy())
        *_, last = loop.positions(Position(), lambda _: False)
        assert last.ends_epoch
        return self


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.mark.parametrize("batch_size", [1, 16, 20, 22, 23, 1000, 10_000_000, 10**30])
def test_an_epoch_simulates_every_example_once_and_nothing_else(counted: Counted, batch_size: int) -> None:
    counted.train(batch_size)

    assert sum(counted.calls) == TRAINING + HELD_OUT


def test_a_last_batch_is_as_long_as_what_is_left(counted: Counted) -> None:
    counted.train(16)

    assert counted.calls == [16, 6, 10]


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_a_batch_is_never_wider_than_the_data(replicas: int) -> None:
    examples = Examples(np.zeros((42, 1), np.float32), np.zeros(42, np.float32))

    spec = batches(examples, 10_000_000, replica=replicas - 1, replicas=replicas, seed=0).element_spec

    assert spec[0].shape[0] == -(-42 // replicas)


def batch(weights: list[float]) -> Batch:
    rows = tf.range(len(weights), dtype=tf.float32)
    return Batch(rows[:, tf.newaxis], rows, tf.constant(weights))


def test_a_replica_without_an_example_computes_nothing() -> None:
    assert [len(each) for each in batch([0, 0]).cut()] == [0, 0, 0]


def test_a_model_that_takes_no_empty_batch_keeps_one_row_of_weight_0() -> None:
    np.testing.assert_array_equal(batch([0, 0]).cut(1).weights, [0])
    np.testing.assert_array_equal(batch([0.5, 0.5, 0]).cut(1).labels, [0, 1])
