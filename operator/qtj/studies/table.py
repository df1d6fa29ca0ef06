"""A study as a table: for people, as CSV, and for programs."""

import csv
import io
from typing import Any

from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import Value, text_of
from qtj_operator.api.study_status import StudyStatus, TrialPhase, TrialStatus
from qtj_operator.core.study.outcome import PointOutcome, best_of, outcomes_of, ranked, value_of
from qtj_operator.core.study.plan import size_of

__all__ = ["counts_text", "interval_text", "point_cells", "point_headings", "study_data", "study_text", "trials_csv"]

_NOTHING = "-"
_BEST = "best"


def study_text(name: str, spec: StudySpec, status: StudyStatus, separator: str = "/") -> str:
    """Returns how a study stands: its points, the best first, and why trials have failed.

    Args:
        name: Its name.
        spec: Its spec.
        status: Its status.
        separator: Between its name and the number of a trial: the run STUDY/7 here, the job STUDY-7 on a cluster.
    """
    lines = [f"{name} is {status.phase}" + (f": {status.message}" if status.message else "")]
    lines += [counts_text(spec, status), "", _points(spec, status)]
    lines += [f"{name}{separator}{each.number} failed: {each.message}" for each in status.trials if _has_failed(each)]
    return "\n".join(lines)


def counts_text(spec: StudySpec, status: StudyStatus) -> str:
    """Returns how many trials are done."""
    over = sum(each.is_over for each in status.trials)
    failed = sum(map(_has_failed, status.trials))
    what = f"{spec.objective.metric} of {over}/{size_of(spec, status.trials)} trials"
    stopped = sum(each.phase == TrialPhase.STOPPED for each in status.trials)
    what += f", {stopped} stopped" if stopped else ""
    return what + (f", {failed} failed" if failed else "")


def _points(spec: StudySpec, status: StudyStatus) -> str:
    outcomes = outcomes_of(spec, status.trials)
    best = best_of(outcomes, spec.objective)
    rows = [point_cells(each, is_best=each is best) for each in ranked(outcomes, spec.objective)]
    return columns([point_headings(spec), *rows])


def point_headings(spec: StudySpec) -> list[str]:
    """Returns the headings of `point_cells`."""
    measured = f"{spec.objective.metric.upper()} (MEAN, 95%)"
    return [*(each.name.upper() for each in spec.parameters), "TRIALS", measured, "STD", "MIN", "MAX", ""]


def point_cells(outcome: PointOutcome, *, is_best: bool) -> list[str]:
    """Returns a row of the table of points."""
    values = outcome.values
    spread = [_number(outcome.deviation), _number(min(values, default=None)), _number(max(values, default=None))]
    over = sum(each.is_over for each in outcome.trials)
    trials = f"{over}/{outcome.planned}" + (f", {outcome.failed} failed" if outcome.failed else "")
    cells = [text_of(value) for _, value in outcome.point]
    return [*cells, trials, interval_text(outcome), *spread, _BEST if is_best else ""]


def interval_text(outcome: PointOutcome) -> str:
    """Returns the mean with its interval, as far as there are values."""
    margin = "" if outcome.margin is None else f" ± {_number(outcome.margin)}"
    return _number(outcome.mean) + margin


def trials_csv(spec: StudySpec, status: StudyStatus) -> str:
    """Returns a line for each trial, with all of its metrics."""
    metrics = sorted({name for each in status.trials for name in each.metrics or ()})
    names = [each.name for each in spec.parameters]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", *names, "seed", "phase", *metrics, "message"])
    for each in status.trials:
        numbers = [(each.metrics or {}).get(name, "") for name in metrics]
        values = [_cell(each.parameters.get(name)) for name in names]
        writer.writerow([each.number, *values, _cell(each.seed), each.phase, *numbers, each.message or ""])
    return text.getvalue()


def study_data(study: dict[str, Any], spec: StudySpec, status: StudyStatus) -> dict[str, Any]:
    """Returns a study as programs read it: what is recorded, and what follows from it for each point.

    Args:
        study: The recorded study.
        spec: Its spec.
        status: Its status.
    """
    outcomes = outcomes_of(spec, status.trials)
    best = best_of(outcomes, spec.objective)
    points = [_point_data(each, spec) for each in ranked(outcomes, spec.objective)]
    summary = {"points": points, **({"best": _point_data(best, spec)} if best else {})}
    return {**study, "status": {**study["status"], **summary}}


def _point_data(outcome: PointOutcome, spec: StudySpec) -> dict[str, Any]:
    numbers = {
        "objective": outcome.objective,
        "mean": outcome.mean,
        "standardDeviation": outcome.deviation,
        "margin": outcome.margin,
    }
    return {
        "parameters": dict(outcome.point),
        "trials": [each.number for each in outcome.trials],
        "failed": outcome.failed,
        "values": [value_of(each, spec.objective) for each in outcome.trials],
        **{name: number for name, number in numbers.items() if number is not None},
    }


def _has_failed(trial: TrialStatus) -> bool:
    return trial.phase == TrialPhase.FAILED


def _number(value: float | None) -> str:
    return _NOTHING if value is None else in_digits(value)


def _cell(value: Value | None) -> str:
    return "" if value is None else text_of(value)
