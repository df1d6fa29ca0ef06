"""The optimizer of a training: what Keras is asked for, and the learning rate of each step."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from qtj_trainer.errors import UserError
from qtj_trainer.loop.optimizer import learning_rate, learning_rate_at, optimizer_of
from qtj_trainer.workloads.options import Optimizer, Options, Schedule

STEPS = 100


def rates(*steps: int, **chosen: Any) -> list[float]:
    options = Options(learning_rate=0.5, **chosen)
    return [learning_rate_at(step, options, STEPS) for step in steps]


def stepped(options: Options, gradient: list[float], start: float = 1.0) -> list[float]:
    """Weights after one step of the optimizer."""
    variable = tf.Variable([start] * len(gradient))
    optimizer = optimizer_of(options, STEPS)
    optimizer.build([variable])
    optimizer.apply_gradients([(tf.constant(gradient), variable)])
    return [float(each) for each in variable.numpy()]


def test_without_a_schedule_the_rate_stays() -> None:
    assert rates(0, 50, 99) == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("schedule", "halfway"),
    [(Schedule.LINEAR, 0.505), (Schedule.COSINE, 0.505), (Schedule.EXPONENTIAL, 0.1), (Schedule.CONSTANT, 1.0)],
)
def test_after_the_warm_up_a_schedule_takes_the_steps_that_are_left(schedule: Schedule, halfway: float) -> None:
    rate = rates(0, 5, 10, 55, 100, warmup_steps=10, schedule=schedule)

    end = 1.0 if schedule == Schedule.CONSTANT else 0.01
    assert rate == pytest.approx([0, 0.25, 0.5, 0.5 * halfway, 0.5 * end])


def test_cosine_is_that_of_keras_from_step_to_step() -> None:
    schedule = tf_keras.optimizers.schedules.CosineDecay(0.0, 80, alpha=0.25, warmup_target=0.5, warmup_steps=20)

    mine = rates(*range(STEPS), schedule=Schedule.COSINE, decay_to=0.25, warmup_steps=20)

    assert mine == pytest.approx([float(schedule(step)) for step in range(STEPS)])


def test_a_schedule_may_end_before_the_training() -> None:
    assert rates(20, 99, schedule=Schedule.LINEAR, decay_steps=20, decay_to=0.5) == pytest.approx([0.25, 0.25])


def test_the_optimizer_takes_the_rate_of_its_own_step() -> None:
    options = Options(optimizer=Optimizer.SGD, learning_rate=0.5, warmup_steps=2)
    variable, optimizer = tf.Variable(0.0), optimizer_of(options, STEPS)
    optimizer.build([variable])
    after = []

    for _ in range(4):
        optimizer.apply_gradients([(tf.constant(-1.0), variable)])
        after.append(float(variable))

    assert after == [0.0, 0.25, 0.75, 1.25]


def test_a_warm_up_that_never_ends_is_refused() -> None:
    with pytest.raises(UserError, match="--warmup-steps is 100 and the training has 100 steps: lower it"):
        optimizer_of(Options(warmup_steps=100), STEPS)
    with pytest.raises(UserError, match="the training has 1 step: lower it"):
        optimizer_of(Options(warmup_steps=1), 1)


def test_gradients_are_clipped_by_the_norm_of_all_of_them() -> None:
    options = Options(optimizer=Optimizer.SGD, learning_rate=1.0, clip_norm=1.0)

    assert stepped(options, [3.0, 4.0], start=0.0) == pytest.approx([-0.6, -0.8])
    assert stepped(options, [0.3, 0.4], start=0.0) == pytest.approx([-0.3, -0.4])


def test_weights_decay_by_a_share_of_the_learning_rate() -> None:
    options = Options(optimizer=Optimizer.SGD, learning_rate=0.5, weight_decay=0.5)

    assert stepped(options, [0.0], start=1.0) == [0.75]


def test_optimizers_get_their_own_settings() -> None:
    adam = optimizer_of(Options(beta_1=0.5, beta_2=0.75), STEPS)
    sgd = optimizer_of(Options(optimizer=Optimizer.SGD, momentum=0.9), STEPS)
    rmsprop = optimizer_of(Options(optimizer=Optimizer.RMSPROP, momentum=0.8), STEPS)

    assert (adam.beta_1, adam.beta_2, sgd.momentum, rmsprop.momentum) == (0.5, 0.75, 0.9, 0.8)


@pytest.mark.parametrize("optimizer", list(Optimizer))
def test_defaults_are_those_of_keras(optimizer: Optimizer) -> None:
    mine = optimizer_of(Options(optimizer=optimizer), STEPS).get_config()
    theirs = type(optimizer_of(Options(optimizer=optimizer), STEPS))(np.float32(0.02), jit_compile=False).get_config()

    assert {name for name, value in mine.items() if value != theirs[name]} <= {"learning_rate"}
    assert math.isclose(mine["learning_rate"], theirs["learning_rate"])


def after_steps(make: Callable[[], Any], dtype: str, gradients: Sequence[Any]) -> list[Any]:
    """The weights and the optimizer's own state after a step for each gradient."""
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        variables = [tf.Variable([[1.0, -2.0], [0.5, 3.0]], dtype=dtype), tf.Variable(0.25, dtype=dtype)]
        optimizer = make()
        optimizer.build(variables)
    for gradient in gradients:
        optimizer.apply_gradients([(gradient, variables[0]), (tf.constant(-0.5, dtype), variables[1])])
    return [each.numpy() for each in (*variables, *optimizer.variables)]


def is_that_of_keras(options: Options, dtype: str, gradients: Sequence[Any]) -> bool:
    """Whether both are alike within what the betas are rounded by, which Keras takes in single precision."""

    def keras() -> Any:
        rate = learning_rate(options, STEPS)
        decay, norm = options.weight_decay or None, options.clip_norm or None
        betas = {"beta_1": options.beta_1, "beta_2": options.beta_2}
        return tf_keras.optimizers.Adam(rate, **betas, weight_decay=decay, global_clipnorm=norm, jit_compile=False)

    mine = after_steps(lambda: optimizer_of(options, STEPS), dtype, gradients)
    theirs = after_steps(keras, dtype, gradients)
    return all(np.allclose(*pair, rtol=1e-4, atol=0) for pair in zip(mine, theirs, strict=True))


@pytest.mark.parametrize("chosen", [{}, {"warmup_steps": 3}, {"weight_decay": 0.01, "clip_norm": 0.5}, {"beta_2": 0.5}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adam_is_that_of_keras(dtype: str, chosen: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    gradients = [tf.constant(random.normal(size=(2, 2)), dtype) for _ in range(20)]

    assert is_that_of_keras(Options(learning_rate=0.1, **chosen), dtype, gradients)


def test_adam_takes_sparse_gradients_as_keras_does() -> None:
    sparse = [tf.IndexedSlices(tf.constant([[0.5, -1.0]]), tf.constant([row]), (2, 2)) for row in (0, 1, 0)]

    assert is_that_of_keras(Options(learning_rate=0.1), "float32", sparse)


def test_adam_is_one_operation_for_each_variable() -> None:
    variables = [tf.Variable([1.0, 2.0]), tf.Variable(3.0)]
    optimizer = optimizer_of(Options(), STEPS)
    optimizer.build(variables)

    step = tf.function(lambda: optimizer.apply_gradients([(tf.ones_like(each), each) for each in variables]))

    kinds = [each.type for each in step.get_concrete_function().graph.get_operations()]
    assert kinds.count("ResourceApplyAdam") == len(variables)
    assert kinds.count("AssignAddVariableOp") == 1, "that of the number of the step"
