"""The optimizer of a training, and its learning rate schedule.

    rate  │      ╭──╮              --learning-rate
          │     ╱    ╲
          │    ╱      ╲
          │   ╱        ╰─────      --decay-to of it
          └───┬────┬───┬─────▶ optimizer steps
           --warmup-steps
                  --decay-steps

The rate depends only on the number of the step, which the optimizer counts and a checkpoint holds.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tf_keras

from qtj_trainer.errors import UserError
from qtj_trainer.loop.adam import Adam
from qtj_trainer.workloads.options import Optimizer, Options, Schedule

__all__ = ["learning_rate_at", "optimizer_of"]

_OPTIMIZERS: dict[Optimizer, Callable[[Options], tuple[Any, dict[str, float]]]] = {
    Optimizer.ADAM: lambda of: (Adam, {"beta_1": of.beta_1, "beta_2": of.beta_2}),
    Optimizer.SGD: lambda of: (tf_keras.optimizers.SGD, {"momentum": of.momentum}),
    Optimizer.RMSPROP: lambda of: (tf_keras.optimizers.RMSprop, {"momentum": of.momentum}),
    Optimizer.ADAGRAD: lambda _: (tf_keras.optimizers.Adagrad, {}),
}


class _WarmedUp(tf_keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]  # Keras has no types
    """A schedule that follows a linear warm-up from 0, as in Keras' `CosineDecay`."""

    def __init__(self, peak: float, steps: int, schedule: Callable[[tf.Tensor], tf.Tensor]) -> None:
        self._peak = peak
        self._steps = steps
        self._schedule = schedule

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Returns the rate of a step, counted from 0."""
        number = tf.cast(step, tf.float32)
        rising = self._peak * number / max(self._steps, 1)
        return tf.where(number < self._steps, rising, self._schedule(number - self._steps))


def optimizer_of(options: Options, steps: int) -> Any:
    """Builds a Keras optimizer.

    Args:
        options: The options of the training.
        steps: Optimizer steps of the whole training.

    Raises:
        UserError: If the warm-up does not end before the training.
    """
    make, settings = _OPTIMIZERS[options.optimizer](options)
    return make(
        _learning_rate(options, steps),
        weight_decay=options.weight_decay or None,
        global_clipnorm=options.clip_norm or None,
        # XLA would compile the optimizer in each process, for no gain: it has 70 numbers to update.
        jit_compile=False,
        **settings,
    )


def learning_rate_at(step: int, options: Options, steps: int) -> float:
    """Returns the learning rate of a step, counted from 0, in a training of `steps` steps."""
    rate = _learning_rate(options, steps)
    return float(rate(step)) if callable(rate) else rate


def _learning_rate(options: Options, steps: int) -> float | Callable[[tf.Tensor | int], tf.Tensor]:
    if options.warmup_steps >= steps:
        have = f"{steps} step{'s' if steps > 1 else ''}"
        raise UserError(f"--warmup-steps is {options.warmup_steps} and the training has {have}: lower it")
    if options.schedule == Schedule.CONSTANT and not options.warmup_steps:
        return options.learning_rate
    decay_steps = options.decay_steps or steps - options.warmup_steps
    return _WarmedUp(options.learning_rate, options.warmup_steps, _schedule(options, decay_steps))


def _schedule(options: Options, decay_steps: int) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns the learning rate as a function of the steps since the warm-up."""
    peak, share, schedules = options.learning_rate, options.decay_to, tf_keras.optimizers.schedules
    match options.schedule:
        case Schedule.LINEAR:
            linear: Callable[[tf.Tensor], tf.Tensor] = schedules.PolynomialDecay(peak, decay_steps, peak * share)
            return linear
        case Schedule.COSINE:
            cosine: Callable[[tf.Tensor], tf.Tensor] = schedules.CosineDecay(peak, decay_steps, alpha=share)
            return cosine
        case Schedule.EXPONENTIAL:
            exponential: Callable[[tf.Tensor], tf.Tensor] = schedules.ExponentialDecay(peak, decay_steps, share)
            return exponential
        case Schedule.CONSTANT:
            return lambda _: tf.constant(peak)
