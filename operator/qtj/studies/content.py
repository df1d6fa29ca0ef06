"""What a report shows of a study: the same for page, terminal and programs."""

from collections.abc import Callable, Mapping, Sequence

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
from qtj_operator.api.study_status import StudyStatus, TrialStatus
from qtj_operator.core.study.outcome import PointOutcome, best_of, outcomes_of, ranked, value_of
from qtj_report.study import ParameterColumn, StudyContent, StudyPoint, StudyTrial
from qtj_report.study_charts import CURVES

__all__ = ["study_content"]

Epochs = Callable[[TrialStatus], Sequence[EpochRecord]]


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
