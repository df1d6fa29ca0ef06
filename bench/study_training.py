"""A small training with TensorFlow: many times in one plain script, or once as the trial of a study.

`python study_training.py` is the script that a study replaces: one process, which loads TensorFlow once. With
`--learning-rate`, it is the program of a trial.
"""

import argparse
from typing import Any

from qtj_trainer import Program

import tensorflow as tf  # isort: skip

__all__ = ["EPOCHS", "RATES"]

RATES = (0.01, 0.03, 0.1)
EPOCHS = 5
_EXAMPLES = 2048


def _made(rate: float, seed: int) -> tuple[Any, Any]:
    """Returns a model and its data."""
    tf.keras.utils.set_random_seed(seed)
    x = tf.random.stateless_normal([_EXAMPLES, 16], seed=[0, seed])
    y = tf.sin(tf.reduce_sum(x, axis=1, keepdims=True))
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu", input_shape=(16,)), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(rate), loss="mse")
    return model, tf.data.Dataset.from_tensor_slices((x, y)).batch(32)


def _plain(seeds: int) -> None:
    for rate in RATES:
        for seed in range(seeds):
            model, data = _made(rate, seed)
            model.fit(data, epochs=EPOCHS, verbose=0)
            print(rate, seed, model.evaluate(data, verbose=0))


def _trial(rate: float, seed: int) -> None:
    program = Program(epochs=EPOCHS)
    model, data = _made(rate, seed)
    first = program.restore(model)
    model.fit(data, epochs=EPOCHS, initial_epoch=first, callbacks=[program.callback()], verbose=0)
    program.finish(model, {"mse": model.evaluate(data, verbose=0)})


def main() -> None:
    """Trains once, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5, help="of the script")
    options = parser.parse_args()
    if options.learning_rate is None:
        _plain(options.seeds)
    else:
        _trial(options.learning_rate, options.seed)


if __name__ == "__main__":
    main()
