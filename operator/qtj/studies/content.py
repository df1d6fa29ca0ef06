"""What a report shows of a study: the same for page, terminal and programs; and its trials as CSV."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qtj.studies.compare import comparison_of, comparison_sentences, influences_of
from qtj.studies.words import (
    counts_text,
    final_text,
    headline_of,
    pairs_text,
    point_cells,
    point_headings,
    setting_text,
)
from qtj_contract.progress_log import EpochRecord
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import Value, text_of
from qtj_operator.api.study_status import StudyStatus, TrialStatus
from qtj_operator.core.study.final import final_outcome
from qtj_operator.core.study.outcome import PointOutcome, best_of, outcomes_of, ranked, value_of
from qtj_report.content import Influence, ParameterColumn, StudyContent, StudyPoint, StudyTrial
from qtj_report.study_page import CURVES

__all__ = ["study_content", "study_data", "trials_csv"]

Epochs = Callable[[TrialStatus], Sequence[EpochRecord]]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What begins a formula in a spreadsheet, where a cell is text."""


def study_content(
    name: str,
    spec: StudySpec,
    status: StudyStatus,
    *,
    separator: str = "/",
    baseline: Mapping[str, str] | None = None,
    epochs: Epochs | None = None,
    page: Callable[[TrialStatus], str] = lambda _: "",
    notes: Sequence[str] = (),
) -> StudyContent:
    """Returns what a report shows of a study.

    Args:
        name: Its name.
        spec: Its spec.
        status: Its status.
        separator: Between its name and the number of a trial.
        baseline: Values of the point that the best one is compared with; None for the first point.
        epochs: Reads the epochs of a trial; None where nobody asks for curves.
        page: Returns the address of the page of a trial; empty without one.
        notes: Sentences about what is not shown.
    """
    outcomes = outcomes_of(spec, status.trials)
    best = best_of(outcomes, spec.objective)
    found = comparison_of(spec, status, baseline)
    return StudyContent(
        title=name,
        phase=str(status.phase),
        headline=headline_of(name, status),
        metric=spec.objective.metric,
        counts=counts_text(spec, status),
        headings=point_headings(spec),
        parameters=[
            ParameterColumn(name=each.name, is_log=bool(each.range and each.range.is_log)) for each in spec.parameters
        ],
        points=[
            _point(each, is_best=each is best, epochs=epochs if place < CURVES else None)
            for place, each in enumerate(ranked(outcomes, spec.objective))
        ],
        trials=[_trial(each, spec, f"{name}{separator}{each.number}", page(each)) for each in status.trials],
        final=final_text(spec, status),
        comparison=comparison_sentences(found, spec.objective.metric) if found else (),
        influences=influences_of(spec, status),
        notes=notes,
    )


def _point(outcome: PointOutcome, *, is_best: bool, epochs: Epochs | None) -> StudyPoint:
    runs = [found for each in outcome.trials if each.is_over and (found := epochs(each))] if epochs else []
    return StudyPoint(
        name=pairs_text(outcome.point),
        values=dict(outcome.point),
        cells=point_cells(outcome, is_best=is_best),
        metrics=outcome.values,
        objective=outcome.objective,
        mean=outcome.mean,
        margin=outcome.margin,
        is_best=is_best,
        runs=runs,
    )


def _trial(trial: TrialStatus, spec: StudySpec, name: str, page: str) -> StudyTrial:
    return StudyTrial(
        name=name,
        phase=str(trial.phase),
        setting=setting_text(trial),
        metric=value_of(trial, spec.objective),
        message=trial.message or "",
        page=page,
    )


def trials_csv(spec: StudySpec, status: StudyStatus) -> str:
    """Returns a line for each trial, with all of its metrics; with a final training, also which are of it."""
    metrics = sorted({name for each in status.trials for name in each.metrics or ()})
    added = (spec.final and spec.final.parameters) or ()
    names = list(dict.fromkeys((*(each.name for each in spec.parameters), *added)))
    final = ["final"] if spec.final else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", *names, "seed", *final, "phase", *map(_harmless, metrics), "message"])
    for each in status.trials:
        numbers = [(each.metrics or {}).get(name, "") for name in metrics]
        values = [_cell(each.parameters.get(name)) for name in names]
        marks = [text_of(bool(each.final)) for _ in final]
        message = _harmless(each.message or "")
        writer.writerow([each.number, *values, _cell(each.seed), *marks, each.phase, *numbers, message])
    return text.getvalue()


def study_data(
    study: dict[str, Any], spec: StudySpec, status: StudyStatus, baseline: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Returns a study as programs read it: what is recorded, and what follows from it for each point.

    Args:
        study: The recorded study.
        spec: Its spec.
        status: Its status.
        baseline: Values of the point that the best one is compared with; None for the first point.
    """
    outcomes = outcomes_of(spec, status.trials)
    best = best_of(outcomes, spec.objective)
    compared = comparison_of(spec, status, baseline)
    influences, final = influences_of(spec, status), final_outcome(spec, status.trials)
    points = [_point_data(each, spec) for each in ranked(outcomes, spec.objective)]
    summary = {
        "points": points,
        **({"best": _point_data(best, spec)} if best else {}),
        **({"final": _point_data(final, spec)} if final else {}),
        **({"comparison": compared.to_dict()} if compared else {}),
        **({"influences": [_influence_data(each) for each in influences]} if influences else {}),
    }
    return {**study, "status": {**study["status"], **summary}}


def _influence_data(influence: Influence) -> dict[str, Any]:
    return {"parameter": influence.name, "share": influence.share, "byChance": influence.by_chance}


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


def _cell(value: Value | None) -> str:
    if value is None:
        return ""
    return _harmless(value) if isinstance(value, str) else text_of(value)


def _harmless(text: str) -> str:
    """Returns text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
