"""Mean and variance of each variable's gradient."""

import numpy as np
import pytest
import tensorflow as tf

from qtj_trainer.loop.loop import gradient_statistics


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_gradient_has_its_mean_and_variance(dtype: str) -> None:
    random = np.random.default_rng(1)
    gradients = [random.normal(10.0, 0.1, shape).astype(dtype) for shape in [(3, 4), (), (7,), (1, 1)]]

    found = gradient_statistics([tf.constant(each) for each in gradients])

    expected = [number for each in gradients for number in (each.mean(), each.var())]
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_the_moments_of_millions_of_numbers_are_as_exact() -> None:
    gradient = np.random.default_rng(2).normal(1e-3, 1.0, 2_000_000).astype("float32")

    mean, variance = gradient_statistics([tf.constant(gradient)])

    assert float(mean) == pytest.approx(gradient.mean(dtype="float64"), rel=1e-3)
    assert float(variance) == pytest.approx(gradient.var(dtype="float64"), rel=1e-5)


def test_a_sparse_gradient_has_zeros() -> None:
    sparse = tf.IndexedSlices(tf.constant([[2.0, 2.0]]), tf.constant([1]), tf.constant([2, 2]))

    assert gradient_statistics([sparse]).numpy().tolist() == [1, 1]


def test_one_number_does_not_vary() -> None:
    assert gradient_statistics([tf.constant(1 / 3), tf.constant([2 / 3])]).numpy()[1::2].tolist() == [0, 0]


def test_a_gradient_that_is_no_number_spoils_only_its_own_moments() -> None:
    found = gradient_statistics([tf.constant([1.0, 3.0]), tf.constant([np.nan, 1.0]), tf.constant([np.inf])]).numpy()

    assert found[:2].tolist() == [2, 1]
    assert not np.isfinite(found[2:]).any()
