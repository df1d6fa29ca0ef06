"""Which trials are stopped before their end."""

import pytest
from pydantic import ValidationError

from qtj_operator.api.reading import faults
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyPhase, TrialPhase, TrialStatus
from qtj_operator.api.study_stopping import Stopping, StoppingRule
from qtj_operator.core.study.decide import decide_study
from qtj_operator.core.study.epoch import Reached, reached_of
from qtj_operator.core.study.outcome import best_of, outcomes_of
from qtj_operator.core.study.plan import size_of
from qtj_operator.core.study.stopping import bracket_of, judged
from tests.study.studies import study, trial

MEDIAN = {"rule": "Median", "metric": "val_loss"}
HALVING = {"rule": "SuccessiveHalving", "metric": "val_loss"}


def at(epoch: int, loss: float, name: str = "val_loss") -> Reached:
    return Reached(epoch, {name: loss})


def four() -> list[TrialStatus]:
    """Four trials that run, the first three with what they had after the first epoch."""
    trials = [trial(number, number / 10, 0) for number in range(1, 5)]
    return [each.changed(compared={"1": 0.1 * each.number}) for each in trials[:3]] + trials[3:]


def verdict(spec: StudySpec, trials: list[TrialStatus], reached: Reached) -> TrialStatus:
    return judged(spec, trials, {4: reached})[3]


def test_a_trial_that_is_worse_than_the_median_of_the_others_is_stopped() -> None:
    stopped = verdict(study(stopping=MEDIAN), four(), at(1, 0.25))

    assert stopped.phase == TrialPhase.STOPPED
    assert stopped.message == "after 1 epoch, its val_loss of 0.25 is worse than the median of 3 others, 0.2"
    assert stopped.metrics == {"val_loss": 0.25}
    assert stopped.compared == {"1": 0.25}


def test_one_that_is_as_good_as_the_median_goes_on_and_so_does_one_with_few_others() -> None:
    assert verdict(study(stopping=MEDIAN), four(), at(1, 0.2)).phase == TrialPhase.RUNNING
    few = [*four()[:2], trial(3, 0.3, 0), trial(4, 0.4, 0)]
    assert verdict(study(stopping=MEDIAN), few, at(1, 9.0)).phase == TrialPhase.RUNNING


@pytest.mark.parametrize(("loss", "phase"), [(0.05, "Running"), (0.15, "Stopped")])
def test_successive_halving_keeps_the_best_of_each_three(loss: float, phase: str) -> None:
    assert verdict(study(stopping=HALVING), four(), at(1, loss)).phase == phase


def test_a_trial_that_has_trained_all_of_its_epochs_is_compared_and_not_stopped() -> None:
    status = {"progress": {"epoch": 1, "epochs": 1, "validationLoss": 9.0}}
    there = reached_of(status)
    assert there is not None

    trained = verdict(study(stopping=HALVING), four(), there)

    assert (trained.phase, trained.compared) == ("Running", {"1": 9.0})
    status["progress"]["epochs"] = 2
    assert verdict(study(stopping=HALVING), four(), reached_of(status) or there).phase == "Stopped"


def test_hyperband_compares_trials_of_one_bracket_and_each_bracket_later_than_the_one_before() -> None:
    stopping = Stopping(rule=StoppingRule.HYPERBAND)
    spec = study(stopping={"rule": "Hyperband", "metric": "val_loss"})
    nine, ten = [trial(number).changed(compared={"3": 0.1}) for number in (9, 10)]
    late = judged(spec, [nine, trial(11)], {11: at(4, 0.9)})[1]

    assert [bracket_of(stopping, number) for number in range(1, 19)] == [0] * 9 + [1] * 5 + [2] * 3 + [0]
    assert (late.phase, late.compared) == ("Running", {"3": 0.9}), "the trial 9 is in another bracket"
    assert judged(spec, [ten, trial(11)], {11: at(4, 0.9)})[1].phase == "Stopped"
    assert judged(spec, [ten, trial(11)], {11: at(2, 0.9)})[1].compared is None


def test_brackets_are_for_hyperband() -> None:
    two = Stopping(rule=StoppingRule.HYPERBAND, brackets=2, factor=4, min_epochs=5)

    assert [bracket_of(two, number) for number in range(1, 7)] == [0, 0, 0, 0, 1, 1]
    assert [two.rung(30, bracket) for bracket in (0, 1)] == [20, 20]
    with pytest.raises(ValidationError, match="is for the rule Hyperband: remove it"):
        Stopping(rule=StoppingRule.MEDIAN, brackets=2)


def test_more_is_better_for_an_accuracy() -> None:
    spec = study(stopping={**MEDIAN, "metric": "accuracy"})

    assert verdict(spec, four(), at(1, 0.9, "accuracy")).phase == TrialPhase.RUNNING
    assert verdict(spec, four(), at(1, 0.15, "accuracy")).phase == TrialPhase.STOPPED


def test_trials_are_compared_after_one_three_and_nine_epochs_and_once_at_each() -> None:
    spec, alone = study(stopping=MEDIAN), [trial(1)]
    for epoch, value in ((1, 0.9), (2, 0.8), (4, 0.7), (5, 0.6), (27, 0.1)):
        alone = judged(spec, alone, {1: at(epoch, value)})

    assert alone[0].compared == {"1": 0.9, "3": 0.7, "27": 0.1}


def test_the_first_comparison_can_be_later() -> None:
    spec = study(stopping={**MEDIAN, "minEpochs": 5, "factor": 2})

    [early] = judged(spec, [trial(1)], {1: at(4, 0.9)})
    [late] = judged(spec, [trial(1)], {1: at(11, 0.9)})

    assert (early.compared, late.compared) == (None, {"10": 0.9})


def test_a_verdict_is_given_once_whatever_others_report_later() -> None:
    spec = study(stopping=HALVING)
    trials = judged(spec, [trial(1), trial(2, 0.1)], {1: at(1, 0.5)})
    later = judged(spec, trials, {1: at(1, 0.5), 2: at(1, 0.1)})

    assert [each.phase for each in later] == ["Running", "Running"]
    assert judged(spec, later, {1: at(1, 0.5), 2: at(1, 0.1)}) == later


def test_a_number_that_is_not_reported_stops_nothing() -> None:
    assert verdict(study(stopping=MEDIAN), four(), at(1, 9.0, "loss")).compared is None
    assert verdict(study(), four(), at(1, 9.0)).compared is None


def test_the_other_seeds_of_a_stopped_point_do_not_start_and_it_is_neither_failed_nor_best() -> None:
    stopped = trial(1, 0.01, 0).changed(phase=TrialPhase.STOPPED, metrics={"mse": 0.0})
    trials = [stopped, trial(2, 0.1, 0, mse=0.3)]
    spec = study(failurePolicy={"maxFailedTrials": 0})

    decision = decide_study(spec, trials, room=4)
    assert [(dict(each.point), each.seed) for each in decision.start] == [({"learning-rate": 0.1}, 1)]
    assert size_of(spec, trials) == 3

    trials.append(trial(3, 0.1, 1, mse=0.4))
    assert decide_study(spec, trials, room=4).phase == StudyPhase.COMPLETE
    best = best_of(outcomes_of(spec, trials), spec.objective)
    assert best is not None
    assert dict(best.point) == {"learning-rate": 0.1}


def test_stopping_needs_a_number_of_epochs() -> None:
    assert study(stopping={"rule": "Median"}, objective={"metric": "val_loss"}).stopping_metric == "val_loss"
    with pytest.raises(ValidationError) as refused:
        study(stopping={"rule": "Median"})

    [(_, sentence)] = faults(refused.value)
    assert sentence == (
        "stopping compares numbers of epochs, and mse is none: write stopping.metric, one of loss, val_loss, accuracy, "
        "val_accuracy"
    )
