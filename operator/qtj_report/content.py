"""Everything that a page shows of one job, or of a study, in the terms of nobody who collects it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any, Protocol, Self

from qtj_contract.origin import Origin
from qtj_contract.predictions import Predictions
from qtj_contract.program_source import ProgramSource
from qtj_contract.progress_log import EpochRecord

__all__ = [
    "Attempt",
    "Content",
    "FailedReplica",
    "Influence",
    "ParameterColumn",
    "Repetition",
    "Stage",
    "StudyContent",
    "StudyPoint",
    "StudyTrial",
    "TrainingRecord",
    "Value",
    "steady_epochs",
    "throughput",
]

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a job.

    Attributes:
        name: Its name, such as training.
        seconds: How long it took in total.
    """

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of the training.

    Attributes:
        number: Its number, from 1.
        began: When it began.
        seconds: How long it took.
        end: The reason for its end, as a sentence; empty if it has not ended.
    """

    number: int
    began: datetime
    seconds: float
    end: str = ""


class FailedReplica(Protocol):
    """A replica that failed, as the status of a job has it."""

    @property
    def pod(self) -> str:
        """The name of its pod."""

    @property
    def attempt(self) -> int:
        """The number of its attempt."""

    @property
    def exit_code(self) -> int | None:
        """Its exit code, if it is known."""

    @property
    def reason(self) -> str:
        """The kubelet's reason."""

    @property
    def message(self) -> str:
        """Its last message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecord:
    """How weights were trained, as the trainer stores it beside them; each field may be missing.

    Attributes:
        workload: The workload of the trainer.
        options: Its options, by name.
        versions: Versions of Python and libraries, by name.
        image: The container image.
        circuit: A drawing of the circuit.
        circuit_files: Files with the circuit and its learned angles, relative to the artifacts.
        weights_bytes: The size of the weights.
    """

    workload: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    circuit: str = ""
    circuit_files: tuple[str, ...] = ()
    weights_bytes: int | None = None

    @classmethod
    def of(cls, raw: Mapping[str, Any], *, circuit: str = "", weights_bytes: int | None = None) -> Self:
        """Reads the fields of a stored record, which may have been edited.

        Args:
            raw: The record; empty if there is none.
            circuit: The drawing of the circuit, which is a file of its own.
            weights_bytes: The size of the weights.
        """
        return cls(
            workload=_text(raw, "workload"),
            options=_mapping(raw, "options"),
            versions={name: str(each) for name, each in _mapping(raw, "versions").items()},
            image=_text(raw, "image"),
            circuit=circuit,
            circuit_files=tuple(_names(_mapping(raw, "circuits"))),
            weights_bytes=weights_bytes,
        )


@dataclass(frozen=True, slots=True)
class Repetition:
    """How to run a job again.

    Attributes:
        file: The name of the file with the job.
        command: The command that runs it.
        text: The content of the file.
    """

    file: str
    command: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A job as its page shows it. Everything that is not known is left out of the page.

    Attributes:
        title: The job, with the number of its run if it has one.
        phase: Its phase, such as Complete.
        headline: How it ended, or its current state.
        asked: The epochs that were asked for.
        done: The epochs that are finished, as far as the status tells.
        last_loss: The last training loss that the status has.
        kept_epoch: With early stopping, the epoch whose weights are stored.
        step: How long a step of the last attempt took, in words.
        stragglers: Sentences about replicas of that attempt for which the others waited.
        epochs: Its epochs, in order.
        metrics: The final metrics, by name.
        measured_by: What measured them: inference or training.
        predictions: The predictions of its inference, if they can be read.
        notes: Sentences about data that are in another place or cannot be read.
        record: How its weights were trained.
        began: When it started.
        seconds: From then to its end, or until the page was written.
        stages: How this time was spent.
        attempts: The attempts of its training.
        failures: The replicas that failed.
        replicas: The number of replicas, by role.
        resources: Requests and limits of a replica: amounts by kind and name.
        weights_sha256: The digest of its weights.
        repetition: How to run it again.
        programs: The programs of the user's own that it was started with last, by path.
        origin: Where these come from, and what they ran on.
    """

    title: str
    phase: str
    headline: str
    asked: int | None = None
    done: int = 0
    last_loss: float | None = None
    kept_epoch: int | None = None
    step: str = ""
    stragglers: Sequence[str] = ()
    epochs: Sequence[EpochRecord] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    measured_by: str = "training"
    predictions: Predictions | None = None
    notes: Sequence[str] = ()
    record: TrainingRecord = field(default_factory=TrainingRecord)
    began: datetime | None = None
    seconds: float | None = None
    stages: Sequence[Stage] = ()
    attempts: Sequence[Attempt] = ()
    failures: Sequence[FailedReplica] = ()
    replicas: Mapping[str, int] = field(default_factory=dict)
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    weights_sha256: str = ""
    repetition: Repetition | None = None
    programs: Mapping[str, ProgramSource] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of Python and libraries, by name."""
        return self.record.versions or self.origin.versions

    @property
    def examples_per_second(self) -> float | None:
        """The throughput of its training."""
        steady = steady_epochs(self.epochs)
        return throughput(steady) if steady else None


def _names(circuits: Mapping[str, Any]) -> list[str]:
    lists = [each for each in circuits.values() if isinstance(each, list)]
    return [name for each in lists for name in each if isinstance(name, str)]


def _mapping(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = raw.get(name)
    return found if isinstance(found, dict) else {}


def _text(raw: Mapping[str, Any], name: str) -> str:
    found = raw.get(name)
    return found if isinstance(found, str) else ""


def steady_epochs(epochs: Sequence[EpochRecord]) -> Sequence[EpochRecord]:
    """Returns the epochs that count: on as many devices as the last one, without those in which programs compile."""
    reported = [each for each in epochs if each.examples_per_second]
    alike = [each for each in reported if each.devices == reported[-1].devices]  # a restart may change this
    return list(_after_the_first(alike)) or alike


def throughput(steady: Sequence[EpochRecord]) -> float:
    """Returns the median of the training examples per second of at least one epoch."""
    return median(each.examples_per_second or 0 for each in steady)


def _after_the_first(epochs: Sequence[EpochRecord]) -> Iterator[EpochRecord]:
    """Yields all epochs except the first of each attempt, in which programs compile."""
    attempt = None
    for each in epochs:
        if each.attempt == attempt:
            yield each
        attempt = each.attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterColumn:
    """A parameter.

    Attributes:
        name: Its name.
        is_log: Whether its values are spread by their logarithms.
    """

    name: str
    is_log: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPoint:
    """One combination of values.

    Attributes:
        name: Its values in one line, such as `learning-rate=0.03`.
        values: Its values by parameter.
        cells: Its row in the table: values, trials, metric with interval, spread.
        metrics: The metric of each seed that has one.
        objective: What is compared; None without a value.
        mean: The mean of the metric.
        margin: Half the interval around it; None for fewer than two seeds.
        is_best: Whether it is the best point.
        runs: The epochs of its trials, as far as they were read.
    """

    name: str
    values: Mapping[str, Value]
    cells: Sequence[str]
    metrics: Sequence[float]
    objective: float | None = None
    mean: float | None = None
    margin: float | None = None
    is_best: bool = False
    runs: Sequence[Sequence[EpochRecord]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTrial:
    """One run of a study.

    Attributes:
        name: Its name on the command line.
        phase: Where it is.
        setting: Its values and its seed in one line.
        metric: The metric that is compared; None without one.
        message: Why it has failed.
        page: The address of its page; empty without one.
    """

    name: str
    phase: str
    setting: str
    metric: float | None = None
    message: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """How much of the scatter of all trials goes with one parameter.

    Attributes:
        name: The parameter.
        share: The share of the variance between the groups of trials with the same value of it.
        by_chance: The share that numbers without any relation to it have on average.
    """

    name: str
    share: float
    by_chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyContent:
    """A study as its page shows it.

    Attributes:
        title: Its name.
        phase: Its phase.
        headline: How it stands.
        metric: The metric that is compared.
        counts: How many trials are done.
        headings: The columns of `StudyPoint.cells`.
        parameters: Its parameters.
        points: Its points, the best first.
        trials: Its trials.
        final: What the final training of the best point has reported; or why there is none; empty where none is asked.
        comparison: Sentences on the best point and the baseline, with the number of seeds that they rest on.
        influences: How much each parameter matters, the most important first; empty where that cannot be told.
        notes: Sentences about what is not shown.
    """

    title: str
    phase: str
    headline: str
    metric: str
    counts: str
    headings: Sequence[str]
    parameters: Sequence[ParameterColumn]
    points: Sequence[StudyPoint]
    trials: Sequence[StudyTrial]
    final: str = ""
    comparison: Sequence[str] = ()
    influences: Sequence[Influence] = ()
    notes: Sequence[str] = field(default_factory=tuple)
