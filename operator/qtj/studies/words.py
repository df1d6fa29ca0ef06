"""The words about a study that page and terminal share: how it stands, the rows of its points, and the whole text."""

from collections.abc import Iterable, Iterator

from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import Value, text_of
from qtj_operator.api.study_status import StudyStatus, TrialPhase, TrialStatus
from qtj_operator.core.study.final import final_outcome, final_sentence
from qtj_operator.core.study.outcome import PointOutcome
from qtj_operator.core.study.plan import searched, size_of
from qtj_report.content import StudyContent
from qtj_report.wording import share

__all__ = [
    "counts_text",
    "final_text",
    "headline_of",
    "pairs_text",
    "point_cells",
    "point_headings",
    "setting_text",
    "study_text",
]

_NOTHING = "-"
_BEST = "best"


def headline_of(name: str, status: StudyStatus) -> str:
    """Returns how a study stands."""
    return f"{name} is {status.phase}" + (f": {status.message}" if status.message else "")


def counts_text(spec: StudySpec, status: StudyStatus) -> str:
    """Returns how many trials are done."""
    trials = searched(status.trials)
    over, failed = sum(each.is_over for each in trials), sum(map(_has_failed, trials))
    what = f"{spec.objective.metric} of {over}/{size_of(spec, status.trials)} trials"
    stopped = sum(each.phase == TrialPhase.STOPPED for each in trials)
    what += _not_complete(stopped, failed)
    final = final_outcome(spec, status.trials)
    return what + (f"; {final.over}/{final.planned} of the final training" if final else "")


def final_text(spec: StudySpec, status: StudyStatus) -> str:
    """Returns what the final training has reported, or why there is none; "" where none is asked."""
    final = final_outcome(spec, status.trials)
    sentence = final_sentence(spec, status.trials, final)
    return f"final training of {pairs_text(final.point)}: {sentence}" if final else sentence


def pairs_text(values: Iterable[tuple[str, Value]]) -> str:
    """Returns values with their names in one line."""
    return " ".join(f"{name}={text_of(value)}" for name, value in values)


def setting_text(trial: TrialStatus) -> str:
    """Returns the values and the seed of a trial."""
    seed: dict[str, Value] = {} if trial.seed is None else {"seed": trial.seed}
    return pairs_text({**trial.parameters, **seed}.items()) + (" (final)" if trial.final else "")


def point_headings(spec: StudySpec) -> list[str]:
    """Returns the headings of `point_cells`."""
    measured = f"{spec.objective.metric.upper()} (MEAN, 95%)"
    return [*(each.name.upper() for each in spec.parameters), "TRIALS", measured, "STD", "MIN", "MAX", ""]


def point_cells(outcome: PointOutcome, *, is_best: bool) -> list[str]:
    """Returns a row of the table of points."""
    values = outcome.values
    spread = [_number(outcome.deviation), _number(min(values, default=None)), _number(max(values, default=None))]
    trials = f"{outcome.over}/{outcome.planned}" + _not_complete(outcome.stopped, outcome.failed)
    cells = [text_of(value) for _, value in outcome.point]
    return [*cells, trials, interval_text(outcome), *spread, _BEST if is_best else ""]


def interval_text(outcome: PointOutcome) -> str:
    """Returns the mean with its interval, as far as there are values."""
    margin = "" if outcome.margin is None else f" ± {_number(outcome.margin)}"
    return _number(outcome.mean) + margin


def _not_complete(stopped: int, failed: int) -> str:
    return (f", {stopped} stopped" if stopped else "") + (f", {failed} failed" if failed else "")


def _has_failed(trial: TrialStatus) -> bool:
    return trial.phase == TrialPhase.FAILED


def _number(value: float | None) -> str:
    return _NOTHING if value is None else in_digits(value)


def study_text(found: StudyContent) -> str:
    """Returns how a study stands: its points, the best first, what they say, and why trials have failed."""
    table = columns([found.headings, *(each.cells for each in found.points)])
    failed = [f"{each.name} failed: {each.message}" for each in found.trials if each.phase == TrialPhase.FAILED]
    return "\n".join([found.headline, found.counts, "", table, *_findings(found), *failed, *found.notes])


def _findings(found: StudyContent) -> Iterator[str]:
    if found.final:
        yield found.final
    yield from found.comparison
    if found.influences:
        shares = (f"{each.name} {share(each.share)} (by chance {share(each.by_chance)})" for each in found.influences)
        yield f"share of the variance of all runs: {', '.join(shares)}; the rest: seeds, and parameters together"
