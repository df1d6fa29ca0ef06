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
from qtj_trainer.workloads.options import Optimizer, Options, Schedule

__all__ = ["learning_rate", "learning_rate_at", "optimizer_of"]


class Adam(tf_keras.optimizers.Adam):  # type: ignore[misc]  # Keras has no types
    """Keras' Adam as one operation for each variable, with the same state and formula.

    The formula is that before section 2.1 of Kingma and Ba (2015), in TensorFlow's kernel. Keras composes an update of
    14 operations for each variable. In a step of a small circuit, these are half of all operations, and each takes as
    long as the next: the variables have a few numbers.
    """

    def update_step(self, gradient: tf.Tensor | tf.IndexedSlices, variable: tf.Variable) -> None:
        """Updates a variable and its two moments. Rows that a sparse gradient lacks count as 0, as in Keras."""
        index = self._index_dict[self._var_key(variable)]
        step = tf.cast(self.iterations + 1, variable.dtype)
        beta_1, beta_2 = (tf.constant(beta, variable.dtype) for beta in (self.beta_1, self.beta_2))
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].handle,
            v=self._velocities[index].handle,
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=tf.cast(self.learning_rate, variable.dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, variable.dtype),
            grad=tf.convert_to_tensor(gradient),
        )


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
        learning_rate(options, steps),
        weight_decay=options.weight_decay or None,
        global_clipnorm=options.clip_norm or None,
        # XLA would compile the optimizer in each process, for no gain: it has 70 numbers to update.
        jit_compile=False,
        **settings,
    )


def learning_rate_at(step: int, options: Options, steps: int) -> float:
    """Returns the learning rate of a step, counted from 0, in a training of `steps` steps."""
    rate = learning_rate(options, steps)
    return float(rate(step)) if callable(rate) else rate


def learning_rate(options: Options, steps: int) -> float | Callable[[tf.Tensor | int], tf.Tensor]:
    """Returns the learning rate for Keras: a number, or a function of the step."""
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
