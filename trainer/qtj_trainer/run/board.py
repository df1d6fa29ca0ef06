"""Event files for TensorBoard: ``tensorboard --logdir <artifacts>/logs``.

<artifacts>/logs/<run>/train/events.out.tfevents...           one file for each attempt
<artifacts>/logs/<run>/validation/events.out.tfevents...      measurements on the held-out set
<artifacts>/logs/<run>/eval/events.out.tfevents...            measurements of an evaluator on that set

A run is a job's uid, or `local-` and the start time of a training without a job: no other run adds to its curves.
TensorBoard draws curves with the same name in several folders, such as the loss, in one chart. Keras' callback uses the
same folders.

TensorFlow's writer cannot write to an emulated bucket. So it writes to a local folder, and whole files are copied from
there, because nothing can be appended to an object in a bucket.
"""

import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.errors import TrainerError
from qtj_trainer.run.position import Epoch
from qtj_trainer.storage import Store

__all__ = ["Board"]

_PARTS = ("train", "validation")
_COUNTED = 100_000
"""Values in a histogram, at most; of more values, a regular sample. A layer of VGG16 has two million: one second."""

_PAUSE = 10.0
"""Seconds from one copy to the next."""

log = logging.getLogger("qtj_trainer")


class Board:
    """Writes the curves of one attempt. Use it in a with statement, which copies them at its end."""

    def __init__(self, store: Store, job_uid: str, *, circuit: str = "", parts: Sequence[str] = _PARTS) -> None:
        self._store = store
        self._folder = f"logs/{job_uid or f'local-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}'}"
        self._circuit = circuit
        self._parts = parts
        self._next = 0.0

    def __enter__(self) -> Self:
        self._local = tempfile.TemporaryDirectory(prefix="qtj-board-")
        self._writers = {part: tf.summary.create_file_writer(f"{self._local.name}/{part}") for part in self._parts}
        if self._circuit:
            with self._writers["train"].as_default(0):
                tf.summary.text("circuit", f"```\n{self._circuit}\n```")
        return self

    def __exit__(self, *_: object) -> None:
        self._copy()
        for writer in self._writers.values():
            writer.close()
        self._local.cleanup()

    def show(self, epoch: Epoch, readouts: Mapping[str, NDArray[Any]], weights: Mapping[str, NDArray[Any]]) -> None:
        """Adds an epoch, at its optimizer step.

        Args:
            epoch: Its numbers.
            readouts: Values for one histogram each, (values,).
            weights: The trained weights, of any shape: one histogram each, or a curve for a single number.
        """
        with self._writers["train"].as_default(epoch.step):
            _draw(_training_curves(epoch))
            for name, values in readouts.items():
                tf.summary.histogram(f"readouts/{name}", _sample(values))
            for name, values in weights.items():
                draw = tf.summary.scalar if values.size == 1 else tf.summary.histogram
                draw(f"weights/{name}", np.squeeze(_sample(values)))
        self.add("validation", epoch.step, {"loss": epoch.validation_loss, **epoch.scores})

    def add(self, part: str, step: int, curves: Mapping[str, float | None]) -> None:
        """Adds a point to each of the curves of a part, at an optimizer step."""
        with self._writers[part].as_default(step):
            _draw(curves)
        if time.monotonic() > self._next:
            self._copy()

    def _copy(self) -> None:
        """Copies all files to the artifacts. Training continues if that fails."""
        for writer in self._writers.values():
            writer.flush()
        try:
            for file in sorted(Path(self._local.name).glob("*/*")):
                self._store.write(f"{self._folder}/{file.parent.name}/{file.name}", file.read_bytes())
        except TrainerError as problem:
            log.warning("the curves of the last epochs are not stored for TensorBoard: %s", problem)
        self._next = time.monotonic() + _PAUSE


def _training_curves(epoch: Epoch) -> dict[str, float | None]:
    curves = {
        "loss": epoch.loss,
        **epoch.training_scores,
        "learning_rate": epoch.learning_rate,
        "examples_per_second": epoch.examples_per_second,
    }
    for name, gradient in epoch.gradients.items():
        curves |= {f"gradient_mean/{name}": gradient.mean, f"gradient_variance/{name}": gradient.variance}
    return curves


def _sample(values: NDArray[Any]) -> NDArray[Any]:
    return values.reshape(-1)[:: -(-values.size // _COUNTED) or 1]


def _draw(curves: Mapping[str, float | None]) -> None:
    for name, number in curves.items():
        if number is not None:
            tf.summary.scalar(name, number)
