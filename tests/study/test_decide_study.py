"""What is next in a study."""

from qtj_operator.api.study_status import StudyPhase, StudyReason, TrialStatus
from qtj_operator.core.study.decide import StudyDecision, decide_study
from tests.study.studies import study, trial

DONE = [trial(1, 0.01, 0, mse=0.1), trial(2, 0.1, 0, mse=0.2), trial(3, 0.01, 1, mse=0.3), trial(4, 0.1, 1, mse=0.4)]


def started(decision: StudyDecision) -> list[tuple[object, int | None]]:
    return [(dict(each.point)["learning-rate"], each.seed) for each in decision.start]


def test_as_many_trials_start_as_there_is_room() -> None:
    decision = decide_study(study(), [], room=3)

    assert decision.phase == StudyPhase.RUNNING
    assert started(decision) == [(0.01, 0), (0.1, 0), (0.01, 1)]


def test_parallelism_is_a_limit_beside_the_room() -> None:
    assert len(decide_study(study(parallelism=1), [], room=3).start) == 1
    assert len(decide_study(study(parallelism=3), [], room=1).start) == 1


def test_a_running_trial_takes_room_and_a_finished_one_gives_it_back() -> None:
    running, finished = trial(1, 0.01, 0), trial(1, 0.01, 0, mse=0.1)

    assert started(decide_study(study(), [running], room=1)) == []
    assert started(decide_study(study(), [finished], room=1)) == [(0.1, 0)]


def test_the_same_trials_give_the_same_decision_whatever_their_order() -> None:
    for number in range(4):
        trials = [*DONE[number:], *DONE[:number]][:2]
        assert decide_study(study(), trials, room=4) == decide_study(study(), trials[::-1], room=4)


def test_a_study_is_complete_when_all_trials_have_finished() -> None:
    assert decide_study(study(), DONE, room=1) == StudyDecision(
        phase=StudyPhase.COMPLETE, reason=StudyReason.TRIALS_DONE
    )
    assert decide_study(study(), [*DONE[:3], trial(4, 0.1, 1)], room=2).phase == StudyPhase.RUNNING


def test_failed_trials_are_allowed_and_one_too_many_ends_the_study() -> None:
    one = [trial(1, 0.01, 0, failed="it broke")]
    spec = study(failurePolicy={"maxFailedTrials": 1})

    assert decide_study(spec, one, room=1).phase == StudyPhase.RUNNING
    decision = decide_study(spec, [*one, trial(2, 0.1, 0, failed="no memory")], room=1)
    assert decision.phase == StudyPhase.FAILED
    assert decision.message == ("2 trials failed, and failurePolicy.maxFailedTrials allows 1; trial 2: no memory")
    assert decision.start == ()


def test_three_failed_trials_are_allowed_when_nothing_is_written() -> None:
    failed = [trial(number, 0.01, number, failed="it broke") for number in range(4)]
    spec = study(seeds={"count": 9})

    assert decide_study(spec, failed[:3], room=1).phase == StudyPhase.RUNNING
    assert decide_study(spec, failed, room=1).phase == StudyPhase.FAILED


def test_a_metric_that_nobody_reports_is_named_after_the_first_trial() -> None:
    spec = study(objective={"metric": "mes"})

    decision = decide_study(spec, DONE[:1], room=1)

    assert decision.phase == StudyPhase.FAILED
    assert decision.message == "trial 1 reports no finite mes; it reports mse: write mse"


def test_a_trial_without_any_metric_says_so() -> None:
    silent = DONE[0].changed(metrics=None)

    decision = decide_study(study(), [silent], room=1)

    assert decision.message == "trial 1 reports no finite mse; it reports none"


def test_one_trial_without_the_metric_does_not_end_a_study_in_which_others_have_it() -> None:
    trials: list[TrialStatus] = [DONE[0], DONE[1].changed(metrics={"loss": 1.0})]

    assert decide_study(study(), trials, room=1).phase == StudyPhase.RUNNING
