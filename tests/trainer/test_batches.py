"""Every example exactly once in an epoch, for any number of replicas."""

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.loop.batches import Batch, are_padded, batch_at, batches, steps_per_epoch
from qtj_trainer.workloads import Examples

Rows = list[tuple[NDArray[Any], NDArray[Any]]]


def numbered(count: int) -> Examples:
    """Examples that can be distinguished."""
    numbers = np.arange(count, dtype=np.float32)
    return Examples(numbers[:, None], numbers)


def taken(count: int, batch: int, *, replica: int = 0, replicas: int = 1, epochs: int = 1, **options: int) -> Rows:
    """Returns the labels and weights of one replica's steps."""
    dataset = batches(numbered(count), batch, replica=replica, replicas=replicas, **options)
    steps = epochs * steps_per_epoch(count, batch)
    return [(each.labels.numpy(), each.weights.numpy()) for each in map(Batch._make, islice(dataset, steps))]


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize(("count", "batch"), [(112, 16), (10, 4), (12, 12), (12, 24), (5, 64), (3, 2), (3, 1)])
def test_it_is_known_before_whether_there_is_padding(count: int, batch: int, replicas: int) -> None:
    shares = [taken(count, batch, replica=each, replicas=replicas) for each in range(replicas)]

    padding = any((weights == 0).any() for share in shares for _, weights in share)
    assert are_padded(count, batch, replicas) == padding


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize(("count", "batch"), [(112, 16), (10, 4), (17, 16), (5, 64), (3, 2)])
def test_every_example_is_shown_exactly_once(count: int, batch: int, replicas: int) -> None:
    shares = [taken(count, batch, replica=each, replicas=replicas, seed=7) for each in range(replicas)]

    shown = [label for share in shares for labels, weights in share for label in labels[weights > 0]]
    assert sorted(shown) == list(range(count))


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_a_step_is_the_same_mean_on_any_number_of_replicas(replicas: int) -> None:
    whole = [labels[weights > 0].mean() for labels, weights in taken(10, 4, seed=7)]

    shares = [taken(10, 4, replica=each, replicas=replicas, seed=7) for each in range(replicas)]

    means = [sum(float(labels @ weights) for labels, weights in step) for step in zip(*shares, strict=True)]
    assert means == pytest.approx(whole)


def test_all_steps_have_one_shape() -> None:
    shapes = {labels.shape for labels, _ in taken(17, 16, replica=2, replicas=3, seed=7)}

    assert shapes == {(6,)}


def test_each_epoch_has_its_own_order() -> None:
    first, second = np.split(np.concatenate([labels for labels, _ in taken(112, 16, epochs=2, seed=7)]), 2)

    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.sort(first))


def test_an_epoch_does_not_depend_on_where_training_began() -> None:
    whole = taken(10, 4, epochs=3, seed=7)

    resumed = taken(10, 4, epochs=1, seed=7, first_step=7)

    np.testing.assert_array_equal([labels for labels, _ in whole[7:]], [labels for labels, _ in resumed[:2]])


def test_a_batch_named_by_its_place_is_the_one_that_stands_there() -> None:
    whole = taken(10, 4, epochs=2, seed=7)

    named = [
        batch_at(numbered(10), 4, epoch=tf.constant(epoch, tf.int64), row=tf.constant(row, tf.int64), seed=7)
        for epoch in range(2)
        for row in range(3)
    ]

    for (labels, weights), batch in zip(whole, named, strict=True):
        np.testing.assert_array_equal(labels, batch.labels)
        np.testing.assert_array_equal(weights, batch.weights)


def test_examples_that_are_decoded_arrive_in_order() -> None:
    examples = replace(numbered(10), decode=lambda each: 2 * each)

    batch = Batch(*next(iter(batches(examples, 4))))

    np.testing.assert_array_equal(batch.inputs, [[0], [2], [4], [6]])


def test_without_a_seed_the_order_is_kept() -> None:
    kept = np.concatenate([labels for labels, _ in taken(12, 4)])

    np.testing.assert_array_equal(kept, np.arange(12))
