"""What TensorBoard shows of a training: ``tensorboard --logdir <artifacts>/logs``.

<artifacts>/logs/<job uid, or "local">/events.out.tfevents...           one file for each attempt
<artifacts>/logs/<job uid, or "local">/eval/events.out.tfevents...      likewise, of the evaluator

TensorFlow's own writer speaks to real buckets alone. So it writes to a local folder, and the files are copied from
there, whole, since objects in a bucket cannot be appended to.
"""

import logging
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.errors import TrainerError
from qtj_trainer.run.position import Epoch
from qtj_trainer.storage import Store

__all__ = ["Board"]

_PAUSE = 10.0
"""Seconds from one copy to the next."""

log = logging.getLogger("qtj_trainer")


class Board:
    """Writes the curves of one attempt. Use it in a with statement: at its end they are copied."""

    def __init__(self, store: Store, job_uid: str, *, run: str = "", circuit: str = "") -> None:
        self._store = store
        self._folder = f"logs/{job_uid or 'local'}" + (f"/{run}" if run else "")
        self._circuit = circuit
        self._next = 0.0

    def __enter__(self) -> Self:
        self._local = tempfile.TemporaryDirectory(prefix="qtj-board-")
        self._writer = tf.summary.create_file_writer(self._local.name)
        if self._circuit:
            with self._writer.as_default(0):
                tf.summary.text("circuit", f"```\n{self._circuit}\n```")
        return self

    def __exit__(self, *_: object) -> None:
        self._copy()
        self._writer.close()
        self._local.cleanup()

    def show(self, epoch: Epoch, readouts: Mapping[str, NDArray[Any]]) -> None:
        """Adds an epoch, at its optimizer step.

        Args:
            epoch: Its numbers.
            readouts: Values to count in a histogram, (values,) each.
        """
        numbers = {"loss": epoch.loss, "examples_per_second": epoch.examples_per_second, **epoch.scores}
        for name, gradient in epoch.gradients.items():
            numbers |= {f"gradient_mean/{name}": gradient.mean, f"gradient_variance/{name}": gradient.variance}
        with self._writer.as_default(epoch.step):
            for name, values in readouts.items():
                tf.summary.histogram(f"readouts/{name}", values)
        self.add(epoch.step, numbers)

    def add(self, step: int, numbers: Mapping[str, float]) -> None:
        """Adds a point to curves, by name, at an optimizer step."""
        with self._writer.as_default(step):
            for name, number in numbers.items():
                tf.summary.scalar(name, number)
        if time.monotonic() > self._next:
            self._copy()

    def _copy(self) -> None:
        """Copies all so far to the artifacts. Curves are no reason to end a training."""
        self._writer.flush()
        try:
            for file in sorted(Path(self._local.name).iterdir()):
                self._store.write(f"{self._folder}/{file.name}", file.read_bytes())
        except TrainerError as problem:
            log.warning("TensorBoard misses the last epochs: %s", problem)
        self._next = time.monotonic() + _PAUSE
