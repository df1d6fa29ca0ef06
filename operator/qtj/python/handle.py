"""A job that runs: followed, asked and changed, on this machine and on a cluster in the same way."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from qtj.local.history import INTERRUPTED
from qtj.monitor.live import job_on
from qtj.monitor.snapshot import Snapshot, Source
from qtj.monitor.watch import View, watch, watch_on_stdout
from qtj.python.apart import apart
from qtj.python.errors import JobFailedError, NotFinishedError
from qtj.python.here import Here
from qtj.python.notebook import Cell, Nobody, html_of, is_notebook
from qtj.python.report import Report
from qtj.python.table import Table
from qtj.report.stored import Weights, read_any, stored_at, stored_weights
from qtj.runs.line_view import end_sentence
from qtj.terminal.errors import InputError, extra_checked
from qtj_contract.predictions import Predictions, predictions_uri
from qtj_contract.progress_log import EpochRecord
from qtj_operator.api.reading import read_status
from qtj_report.content import Content

if TYPE_CHECKING:
    from qtj.python.on_cluster import OnCluster

__all__ = ["Handle"]


class Handle:
    """A job that was started, wherever it runs.

    Args:
        place: Where.
    """

    def __init__(self, place: "Here | OnCluster") -> None:
        self._place = place

    @classmethod
    def here(cls, run: str | None = None) -> Self:
        """Returns the handle of a run on this machine, for example of one that another notebook has started.

        Args:
            run: JOB/NUMBER, or JOB for its last run; None for the last run of the current folder.

        Raises:
            InputError: There is none.
        """
        return cls(Here.named(run))

    @classmethod
    def on_cluster(cls, job: str, namespace: str | None = None) -> Self:
        """Returns the handle of a job on the cluster of kubectl's current context.

        Args:
            job: Its name.
            namespace: Its namespace; None for that of the context.

        Raises:
            InputError: There is no such job or no cluster, or the API server refuses.
        """
        with extra_checked("operator", "a job on a cluster"):
            from qtj.python.on_cluster import OnCluster

        found = cls(OnCluster(job, namespace))
        found._look()
        return found

    @property
    def name(self) -> str:
        """The name of the job, on this machine with the number of its run."""
        return self._place.name

    @property
    def phase(self) -> str:
        """The phase of the job, such as Running or Complete; on this machine also Interrupted."""
        return str(self._look().phase)

    @property
    def status(self) -> Mapping[str, Any]:
        """Phase, message, attempt, restarts, progress, time left and replicas."""
        return self._look().to_dict()

    @property
    def history(self) -> Table:
        """A row for each epoch: its number, attempt, loss and whatever else the program has reported."""
        found = self._content()
        return Table(map(_epoch_row, found.epochs), found.notes)

    @property
    def metrics(self) -> Mapping[str, float]:
        """The final metrics, by name: those of inference, or else those of the training."""
        return dict(self._content().metrics)

    def follow(self) -> None:
        """Shows the job until it is over: in a notebook, on a terminal, or as lines. Ctrl-C leaves the job alone.

        Raises:
            InputError: The job is not there any more, or the API server refuses.
        """
        apart(lambda left: self._place.ask(partial(_followed, left=left, period=self._place.period)))

    def wait(self, timeout: float | None = None) -> Self:
        """Waits until the job is Complete; returns this handle.

        Args:
            timeout: Seconds; None for as long as it takes.

        Raises:
            JobFailedError: The job has failed.
            NotFinishedError: The time is over, or the job was stopped.
            InputError: The job is not there any more, or the API server refuses.
        """
        last = apart(lambda left: self._waited(timeout, left))
        if last.phase == "Failed":
            raise JobFailedError(end_sentence(last.job))
        if last.phase == INTERRUPTED:
            raise NotFinishedError(f"{self.name} is Interrupted: {last.why}: resume() continues it")
        return self

    def weights(self) -> Weights:
        """Returns the weights that the job has stored, read with the rights of the user.

        Raises:
            InputError: There are none, or they cannot be read.
        """
        status = read_status(self._look().job)
        return stored_weights(self.name, status.weights, read_any)

    def predictions(self) -> Table:
        """Returns a row for each held-out example: its label, the prediction, and for a class the score.

        Raises:
            InputError: There are none, or they cannot be read.
        """
        status = read_status(self._look().job)
        if status.inference is None or status.weights is None:
            raise InputError(f"{self.name} has no predictions: they come at the end of its inference")
        uri = predictions_uri(status.weights.uri)
        try:
            found = Predictions.parse(stored_at(uri, "the predictions", read_any).decode(errors="replace"))
        except ValueError:
            raise InputError(f"{uri} is not what docs/reference/contract.md describes: train again") from None
        return Table(_prediction_rows(found))

    def circuit(self) -> str:
        """Returns the drawing of the circuit that was trained.

        Raises:
            InputError: None is stored, or it cannot be read.
        """
        found = self._content()
        if not found.record.circuit:
            why = "; ".join(found.notes) or "the trainer's own workloads store it, at the end of the training"
            raise InputError(f"no circuit of {self.name} is stored: {why}")
        return found.record.circuit

    def report(self) -> Report:
        """Returns what `qtj report` shows.

        Raises:
            InputError: The job is not there any more, or the API server refuses.
        """
        return Report(self._content())

    def logs(self, replica: str | None = None) -> str:
        """Returns what the replicas have written, by attempt and replica.

        Args:
            replica: A replica, such as `worker-0`; None for all.

        Raises:
            InputError: There is no such log.
        """
        return apart(lambda _: self._place.logs(replica))

    def suspend(self) -> str:
        """Ends the programs of the job, which store a checkpoint; returns the sentence of the command.

        Raises:
            InputError: The job is not active, or the API server refuses.
        """
        return apart(lambda _: self._place.suspend())

    def resume(self) -> str:
        """Continues the job from its last checkpoint; returns the sentence of the command.

        Raises:
            InputError: It cannot be continued.
        """
        return apart(lambda _: self._place.resume())

    def delete(self) -> str:
        """Deletes the job, on this machine with all that it has stored; returns the sentence of the command.

        Raises:
            InputError: It is active on this machine, or the API server refuses.
        """
        return apart(lambda _: self._place.delete())

    def __repr__(self) -> str:
        """Shows the name; what happens is asked for with `phase` or `status`."""
        return f"<qtj.Handle {self.name}>"

    def _repr_html_(self) -> str:
        return html_of(self._look())

    def _look(self) -> Snapshot:
        async def look(source: Source) -> Snapshot:
            (seen,) = await source.look()
            return seen

        return apart(lambda _: self._place.ask(look))

    def _content(self) -> Content:
        return apart(lambda _: self._place.content())

    def _waited(self, timeout: float | None, left: Event) -> Snapshot:
        async def waited(source: Source) -> Snapshot:
            watching = watch(source, Nobody(), _ends(left), self._place.period)
            (last,) = await asyncio.wait_for(watching, timeout)
            return last

        try:
            return self._place.ask(waited)
        except TimeoutError:
            raise NotFinishedError(f"{self.name} has not finished within {timeout:g} s: it goes on") from None


async def _followed(source: Source, left: Event, period: float) -> Sequence[Snapshot]:
    if not is_notebook():
        return await watch_on_stdout(source, job_on)
    view: View = Cell()
    return await watch(source, view, _ends(left), period)


def _ends(left: Event) -> Callable[[Sequence[Snapshot]], bool]:
    return lambda snapshots: left.is_set() or all(seen.is_over for seen in snapshots)


def _epoch_row(record: EpochRecord) -> Mapping[str, Any]:
    return {
        "epoch": record.number,
        "attempt": record.attempt,
        "loss": record.loss,
        "accuracy": record.accuracy,
        "validation_loss": record.validation_loss,
        "training_accuracy": record.training_accuracy,
        "examples_per_second": record.examples_per_second,
        "devices": record.devices,
        **record.scores,
    }


def _prediction_rows(found: Predictions) -> Iterator[Mapping[str, Any]]:
    def shown(value: float | None) -> float | str | None:
        return value if value is None or not found.classes else found.classes[int(value)]

    scores = found.scores or [None] * len(found.labels)
    for label, predicted, score in zip(found.labels, found.predictions, scores, strict=True):
        yield {"label": shown(label), "prediction": shown(predicted), "score": score}
