"""The final training of a study: its best point again, with other seeds."""

import pytest

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyPhase, TrialStatus
from qtj_operator.core.study.decide import StudyDecision, decide_study
from qtj_operator.core.study.epoch import Reached
from qtj_operator.core.study.final import final_outcome
from qtj_operator.core.study.outcome import best_of, outcomes_of
from qtj_operator.core.study.plan import size_of, unplannable
from qtj_operator.core.study.stopping import judged
from tests.study.studies import study, trial

FINAL = {"seeds": {"count": 3}, "parameters": {"epochs": 100}}
SEARCHED = [
    *(trial(1, 0.01, 0, mse=0.1), trial(2, 0.1, 0, mse=0.2)),
    *(trial(3, 0.01, 1, mse=0.3), trial(4, 0.1, 1, mse=0.4)),
]


def final(number: int, seed: int, mse: float | None = None, rate: float = 0.01) -> TrialStatus:
    made = trial(number, rate, seed, mse=mse)
    return made.changed(parameters={"learning-rate": rate, "epochs": 100}, final=True)


def started(decision: StudyDecision) -> list[tuple[dict[str, object], int | None, bool]]:
    return [(dict(each.point), each.seed, each.is_final) for each in decision.start]


def test_the_best_point_is_trained_again_with_the_seeds_after_those_of_the_study() -> None:
    decision = decide_study(study(final=FINAL), SEARCHED, room=2)

    point = {"learning-rate": 0.01, "epochs": 100}
    assert decision.phase == StudyPhase.RUNNING
    assert started(decision) == [(point, 2, True), (point, 3, True)]


def test_it_waits_until_all_other_trials_have_finished() -> None:
    trials = [*SEARCHED[:3], trial(4, 0.1, 1)]

    assert started(decide_study(study(final=FINAL), trials, room=4)) == []
    assert started(decide_study(study(final=FINAL), SEARCHED[:3], room=4)) == [({"learning-rate": 0.1}, 1, False)]


def test_its_trials_run_side_by_side_as_far_as_there_is_room() -> None:
    point = {"learning-rate": 0.01, "epochs": 100}

    assert started(decide_study(study(final=FINAL), [*SEARCHED, final(5, 2)], room=2)) == [(point, 3, True)]
    assert started(decide_study(study(final=FINAL, parallelism=1), [*SEARCHED, final(5, 2)], room=2)) == []


def test_a_value_of_the_final_training_replaces_that_of_the_point() -> None:
    spec = study(final={"seeds": {"count": 1}, "parameters": {"learning-rate": 0.5}})

    assert started(decide_study(spec, SEARCHED, room=4)) == [({"learning-rate": 0.5}, 2, True)]


def test_the_study_is_complete_when_the_final_training_is() -> None:
    spec, two = study(final=FINAL), [*SEARCHED, final(5, 2, 0.1), final(6, 3, 0.2)]

    assert started(decide_study(spec, two, room=4)) == [({"learning-rate": 0.01, "epochs": 100}, 4, True)]
    assert decide_study(spec, [*two, final(7, 4)], room=4).phase == StudyPhase.RUNNING
    assert decide_study(spec, [*two, final(7, 4, 0.3)], room=4).phase == StudyPhase.COMPLETE


def test_without_a_best_point_there_is_none() -> None:
    failed = [trial(number, rate, 0, failed="no memory") for number, rate in ((1, 0.01), (2, 0.1))]
    spec = study(seeds={"count": 1}, final=FINAL)

    assert decide_study(spec, failed, room=4).phase == StudyPhase.COMPLETE
    assert final_outcome(spec, failed) is None


def test_its_trials_count_neither_for_the_best_point_nor_for_the_size() -> None:
    spec, trials = study(final={"seeds": {"count": 2}}), [*SEARCHED, trial(5, 0.01, 2, mse=9.0).changed(final=True)]

    outcomes = outcomes_of(spec, trials)

    assert outcomes == outcomes_of(spec, SEARCHED)
    assert best_of(outcomes, spec.objective) == outcomes[0]
    assert size_of(spec, trials) == 4
    found = final_outcome(spec, trials)
    assert found is not None
    assert (found.mean, found.over, found.planned) == (9.0, 1, 2)


def test_they_teach_a_search_that_learns_nothing() -> None:
    spec = study(search={"algorithm": "TPE"}, maxTrials=4, final={**FINAL, "parameters": {"learning-rate": 0.5}})
    trials = [*SEARCHED, trial(5, 0.5, 2, mse=0.1).changed(final=True)]

    assert outcomes_of(spec, trials) == outcomes_of(spec, SEARCHED)
    decision = decide_study(spec, trials, room=4)
    assert (decision.suggest, started(decision)[0]) == (0, ({"learning-rate": 0.5}, 3, True))


def test_they_are_not_stopped_and_others_are_not_compared_with_them() -> None:
    spec = study(final=FINAL, stopping={"rule": "SuccessiveHalving", "metric": "loss"})
    trials = [*(each.changed(compared={"1": 0.1}) for each in SEARCHED), final(5, 2)]

    assert judged(spec, trials, {5: Reached(1, {"loss": 9.0})}) == trials


def test_more_seeds_lead_to_a_search_again_and_to_the_final_training_of_the_new_best_point() -> None:
    before = [*SEARCHED, *(final(number, number - 3, 0.1) for number in (5, 6, 7))]
    spec = study(seeds={"count": 3}, final=FINAL)
    more = [*before, trial(8, 0.01, 2, mse=9.0), trial(9, 0.1, 2, mse=0.1)]

    assert [each.is_final for each in decide_study(spec, before, room=4).start] == [False, False]
    assert final_outcome(spec, before) is None
    assert [dict(each.point)["learning-rate"] for each in decide_study(spec, more, room=4).start] == [0.1, 0.1, 0.1]


@pytest.mark.parametrize(
    ("spec", "trials"),
    [
        (study(seeds={"count": 400}, final={"seeds": {"count": 201}}), "800"),
        (study(search={"algorithm": "Random"}, maxTrials=900, final={"seeds": {"count": 201}}), "900"),
    ],
)
def test_all_trials_together_are_no_more_than_fit_into_a_status(spec: StudySpec, trials: str) -> None:
    assert unplannable(spec) == (
        f"{trials} trials and 201 of the final training are more than 1,000: lower final.seeds.count, or take fewer "
        "values"
    )
