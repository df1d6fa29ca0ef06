"""What a report shows of a study: its points, its trials, and what they say about the parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qtj_contract.progress_log import EpochRecord

__all__ = ["Influence", "ParameterColumn", "StudyContent", "StudyPoint", "StudyTrial", "Value"]

Value = bool | int | float | str


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
