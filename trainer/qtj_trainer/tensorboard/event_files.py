"""Event files for TensorBoard: ``tensorboard --logdir <artifacts>/logs``.

<artifacts>/logs/<run>/events.out.tfevents...                 options, by which TensorBoard compares runs
<artifacts>/logs/<run>/train/events.out.tfevents...           two files for each attempt
<artifacts>/logs/<run>/validation/events.out.tfevents...      measurements on the held-out set
<artifacts>/logs/<run>/eval/events.out.tfevents...            measurements of an evaluator on that set

A run has the name of its job and the start of the job's uid, or `local-` and the start time of a training without a
job: no other run adds to its curves. All attempts of a job add to one run; see `_start_again` for how.
TensorBoard draws curves with the same name in several folders, such as the loss, in one chart. Keras' callback uses the
same folders.

TensorFlow's writer cannot write to an emulated bucket. So it writes to a local folder, and whole files are copied from
there, because nothing can be appended to an object in a bucket.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import tensorflow as tf
from numpy.typing import NDArray

from qtj_trainer.loop.step_report import Measured
from qtj_trainer.storage import Store
from qtj_trainer.stored.periodic_upload import PeriodicUpload
from qtj_trainer.stored.position import Epoch

if TYPE_CHECKING:
    from qtj_trainer.tensorboard.model_summary import ModelSummary

__all__ = ["Board"]

_COUNTED = 100_000
"""Values in a histogram, at most; of more values, a regular sample. A layer of VGG16 has two million: one second."""

_RUN = ""
"""The folder of the run itself, in which TensorBoard looks for its options."""


class Board:
    """Writes the curves of one attempt. Use it in a with statement, which copies them at its end.

    Attributes:
        has_summary: Whether it has a summary.
    """

    def __init__(self, store: Store, run: str, attempt: int = 1) -> None:
        self._store = store
        self._folder = f"logs/{run}"
        self._attempt = attempt
        self._writers: dict[str, Any] = {}
        self.has_summary = False
        self._copies = PeriodicUpload(self._store_all, "the curves of the last epochs are not stored for TensorBoard")

    def __enter__(self) -> Self:
        self._local = tempfile.TemporaryDirectory(prefix="qtj-board-")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.has_summary and problem is None:
            from qtj_trainer.tensorboard.model_summary import write_success

            with self._writer(_RUN, 0).as_default(0):
                write_success()
        self._copies.copy()
        for writer in self._writers.values():
            writer.close()
        self._local.cleanup()

    def describe(self, summary: "ModelSummary", step: int) -> None:
        """Adds what is the same in all steps. It has to be called before anything else is added.

        Args:
            summary: What is trained.
            step: The step after which this attempt continues.
        """
        from qtj_trainer.tensorboard.model_summary import write_summary

        writers = self._writer(_RUN, 0), self._writer("train", step + 1)
        write_summary(summary, self._folder, *writers, step)
        self.has_summary = True

    def show(self, epoch: Epoch, readouts: Mapping[str, NDArray[Any]], weights: Mapping[str, NDArray[Any]]) -> None:
        """Adds an epoch, at its optimizer step.

        Args:
            epoch: Its numbers.
            readouts: Values for one histogram each, (values,).
            weights: The trained weights, of any shape: one histogram each, or a curve for a single number.
        """
        from qtj_trainer.tensorboard.summaries import curves, histogram, weight, write

        with self._writer("train", epoch.step).as_default(epoch.step):
            write(
                *curves({**_training_curves(epoch), "run/attempt": self._attempt}),
                *(histogram(f"readouts/{name}", _sample(values)) for name, values in readouts.items()),
                *(weight(f"weights/{name}", _sample(values)) for name, values in weights.items()),
            )
        self.add("validation", epoch.step, {"loss": epoch.validation_loss, **epoch.scores})

    def show_step(self, step: int, measured: Measured, learning_rate: float) -> None:
        """Adds the numbers of a single step. Their curves have other names than those by epoch, which are means."""
        curves = {
            "loss": measured.loss,
            **measured.scores,
            "learning_rate": learning_rate,
            "gradient_norm": measured.gradient_norm,
        }
        self.add("train", step, {f"step/{name}": number for name, number in curves.items()})

    def add(self, part: str, step: int, curves: Mapping[str, float | None]) -> None:
        """Adds a point to each of the curves of a part, at an optimizer step."""
        from qtj_trainer.tensorboard import summaries

        with self._writer(part, step).as_default(step):
            summaries.write(*summaries.curves(curves))
        self._copies.grown()

    def _writer(self, part: str, first_step: int) -> Any:
        """Returns the writer of a part, whose first point in this attempt is at a step or later."""
        if part not in self._writers:
            folder = Path(self._local.name, part)
            if part != _RUN:
                _start_again(folder, first_step)
            self._writers[part] = tf.summary.create_file_writer(str(folder))
        return self._writers[part]

    def _store_all(self) -> None:
        for writer in self._writers.values():
            writer.flush()
        for file in sorted(Path(self._local.name).rglob("events.*")):
            name = file.relative_to(self._local.name).as_posix()
            self._store.write(f"{self._folder}/{name}", file.read_bytes())


def _training_curves(epoch: Epoch) -> dict[str, float | None]:
    """Returns the curves of an epoch. TensorBoard sorts them by name, and is to begin with scores and the loss."""
    curves = {
        "loss": epoch.loss,
        **epoch.training_scores,
        "optimizer/learning_rate": epoch.learning_rate,
        "optimizer/gradient_norm": epoch.gradient_norm,
        "run/examples_per_second": epoch.examples_per_second,
    }
    for name, gradient in epoch.gradients.items():
        curves |= {
            f"optimizer/gradient_mean/{name}": gradient.mean,
            f"optimizer/gradient_variance/{name}": gradient.variance,
        }
    return curves


def _sample(values: NDArray[Any]) -> NDArray[Any]:
    return values.reshape(-1)[:: -(-values.size // _COUNTED) or 1]


def _start_again(folder: Path, first_step: int) -> None:
    """Writes the file that lets TensorBoard leave out what earlier attempts have drawn.

    An attempt that continues from a checkpoint repeats the steps after it. Without a mark, the curves of both attempts
    would be joined, with a jump back:

        attempt 1     7   14   21 ✗
        attempt 2         ╰─▶  21   28   35        "starts at step 15": what attempt 1 has drawn from there is left out

    TensorBoard's Python reader needs this mark, in a file that it reads before the attempt's own one. Its faster reader
    in Rust needs none: it leaves out what a smaller step follows.

    Args:
        folder: Where the attempt will write its own event file.
        first_step: The first step at which the attempt may draw.
    """
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time()
    session = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    # "-" is before every letter and digit: the attempt's own file has the name of the machine there.
    with tf.io.TFRecordWriter(str(folder / f"events.out.tfevents.{int(now):010d}.-start")) as file:
        for content in ({"file_version": "brain.Event:2"}, {"step": first_step, "session_log": session}):
            file.write(tf.compat.v1.Event(wall_time=now, **content).SerializeToString())
