"""What a sampler is asked for, and what its answer means."""

import importlib.util
from typing import Any

import pytest

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyPhase, TrialPhase, TrialStatus
from qtj_operator.controller.suggest import NoSuggestion, suggest
from qtj_operator.core.study.decide import decide_study
from qtj_operator.core.study.plan import size_of, unplannable
from qtj_operator.core.study.points import Point
from qtj_operator.core.study.suggestion import asked, suggested
from qtj_operator.sampler import answered
from tests.missing import skip_or_fail
from tests.study.studies import study, trial

RATE = {"name": "learning-rate", "range": {"min": 0.001, "max": 1, "scale": "Log"}}


def learning(**fields: Any) -> StudySpec:
    return study(**{"parameters": [RATE], "search": {"algorithm": "TPE"}, "maxTrials": 8, **fields})


def tried(count: int) -> list[TrialStatus]:
    """Points whose objective is their distance from 0.1, each with one seed."""
    rates = [0.001 * 1000 ** (number / count) for number in range(count)]
    return [trial(number, rate, None, mse=abs(rate - 0.1)) for number, rate in enumerate(rates, 1)]


def suggested_here(spec: StudySpec, trials: list[TrialStatus], count: int) -> list[Point]:
    """What `suggest` returns, without a process of its own."""
    return suggested(spec, trials, answered(asked(spec, trials, count))["points"])


def test_as_many_points_are_wanted_as_there_is_room_for_with_all_seeds() -> None:
    assert decide_study(learning(), [], room=3).suggest == 2
    assert decide_study(learning(), [trial(1, 0.1, 0)], room=4).suggest == 1, "one place is for the other seed"
    assert decide_study(learning(), [trial(1, 0.1, 0), trial(2, 0.1, 1)], room=2).suggest == 0
    assert decide_study(learning(maxTrials=2), [trial(1, 0.1, 0), trial(2, 0.1, 1)], room=9).suggest == 0


def test_points_that_are_suggested_start_with_all_seeds_before_the_next() -> None:
    points = [(("learning-rate", 0.1),), (("learning-rate", 0.2),)]

    decision = decide_study(learning(), [], 3, suggested=points)

    assert [(dict(each.point)["learning-rate"], each.seed) for each in decision.start] == [(0.1, 0), (0.1, 1), (0.2, 0)]
    assert decision.suggest == 0


def test_a_study_that_learns_is_complete_when_all_points_have_been_tried() -> None:
    done = [trial(number, number / 10, None, mse=0.1) for number in (1, 2)]
    spec = learning(seeds=None, maxTrials=2)

    assert decide_study(spec, done, room=1).phase == StudyPhase.COMPLETE
    assert decide_study(spec, done[:1], room=1).phase == StudyPhase.RUNNING
    assert size_of(spec, done[:1]) == 2
    assert unplannable(learning(maxTrials=None)) == (
        "Random, TPE, GP and CMA-ES choose points until there are maxTrials trials: write spec.maxTrials"
    )


def test_a_sampler_is_told_the_state_of_each_point() -> None:
    complete = [trial(1, 0.1, 0, mse=0.2), trial(2, 0.1, 1, mse=0.4)]
    failed = [trial(3, 0.2, 0, failed="it broke"), trial(4, 0.2, 1, failed="it broke")]
    stopped = trial(5, 0.3, 0).changed(phase=TrialPhase.STOPPED)
    outside = [trial(7, 5.0, 0, mse=0.1), trial(8, 5.0, 1, mse=0.1)]

    known = asked(learning(), [*complete, *failed, stopped, trial(6, 0.4, 0, mse=0.1), *outside], 1)["known"]

    assert [(each["values"]["learning-rate"], each["state"], each["objective"]) for each in known] == [
        (0.1, "COMPLETE", pytest.approx(0.3)),
        (0.2, "FAIL", None),
        (0.3, "PRUNED", None),
        (0.4, "RUNNING", 0.1),
    ]


def test_listed_values_are_told_by_their_places_and_a_known_point_gives_way_to_a_drawn_one() -> None:
    spec = learning(parameters=[{"name": "learning-rate", "values": [1, True, "a"]}], seeds=None)

    assert [each["values"] for each in asked(spec, [trial(1, True, None)], 1)["known"]] == [{"learning-rate": 1}]
    [point] = suggested(spec, [trial(1, "a", None)], [{"learning-rate": 2}])
    assert dict(point)["learning-rate"] != "a"


def test_the_seed_of_a_suggestion_follows_from_that_of_the_study_and_the_number_of_the_point() -> None:
    first = asked(learning(), [], 2)["seeds"]

    assert asked(learning(), [trial(1, 0.1, 0)], 1)["seeds"] == first[1:]
    assert asked(learning(search={"algorithm": "TPE", "seed": 1}), [], 2)["seeds"] != first


async def test_tpe_suggests_the_same_again_and_better_points_than_chance() -> None:
    _needs_optuna()
    spec = learning(seeds=None, maxTrials=40)

    points = await suggest(spec, tried(20), 15)

    assert points == suggested_here(spec, tried(20), 8)
    assert len(set(points)) == 8, "others have their turn soon"
    rates = [float(dict(each)["learning-rate"]) for each in points[:4]]
    assert sum(0.02 < rate < 0.5 for rate in rates) >= 3, rates


@pytest.mark.slow
def test_cma_es_comes_near_the_minimum_whatever_else_runs_and_suggests_the_same_again() -> None:
    _needs_optuna()
    both = [{"name": name, "range": {"min": -5, "max": 5}} for name in ("x", "y")]
    spec = learning(parameters=both, seeds=None, search={"algorithm": "CMA-ES"}, maxTrials=60)
    trials: list[TrialStatus] = []
    while len(trials) < 54:  # nine generations of six, as many side by side
        points = suggested_here(spec, trials, 6)
        for point in points:
            values = dict(point)
            mse = (float(values["x"]) - 3) ** 2 + (float(values["y"]) + 2) ** 2
            trials.append(trial(len(trials) + 1, 0.1, None, mse=mse).changed(parameters=values))
    errors = [(each.metrics or {})["mse"] for each in trials]

    assert sum(errors[-12:]) < sum(errors[:12]) / 3, "random points stay as bad"
    assert suggested_here(spec, trials[:12], 6) == [
        (("x", each.parameters["x"]), ("y", each.parameters["y"])) for each in trials[12:18]
    ]


def test_cma_es_takes_all_kinds_of_parameters_and_states() -> None:
    _needs_optuna()
    parameters = [RATE, {"name": "kind", "values": ["a", "b"]}]
    spec = learning(parameters=parameters, search={"algorithm": "CMA-ES"}, seeds=None)
    known = [
        trial(1, 0.1, None, mse=0.2),
        trial(2, 0.2, None, failed="it broke"),
        trial(3, 0.3, None).changed(phase=TrialPhase.STOPPED),
        trial(4, 0.4, None),
    ]
    known = [each.changed(parameters={**each.parameters, "kind": "a"}) for each in known]

    points = [dict(each) for each in suggested_here(spec, known, 2)]

    assert all(0.001 <= float(each["learning-rate"]) <= 1 and each["kind"] in {"a", "b"} for each in points)


def test_cma_es_without_a_range_is_one_sentence() -> None:
    spec = learning(parameters=[{"name": "kind", "values": ["a", "b"]}], search={"algorithm": "CMA-ES"})

    assert unplannable(spec) == (
        "CMA-ES moves the numbers of ranges, and no parameter has a range: search with TPE or Random"
    )


def test_every_kind_of_parameter_can_be_suggested() -> None:
    _needs_optuna()
    parameters = [
        {"name": "layers", "range": {"min": 1, "max": 4, "integer": True}},
        {"name": "kind", "values": ["a", True, 1]},
        {"name": "x", "range": {"min": -1, "max": 1}},
    ]

    points = [dict(each) for each in suggested_here(learning(parameters=parameters), [], 3)]

    assert all(each["layers"] in {1, 2, 3, 4} and isinstance(each["layers"], int) for each in points)
    assert all(each["kind"] in ["a", True, 1] and -1 <= float(each["x"]) <= 1 for each in points)


async def test_a_sampler_whose_library_is_missing_is_one_sentence() -> None:
    spec = learning(search={"algorithm": "GP"})
    if importlib.util.find_spec("torch"):
        pytest.skip("torch is installed")

    with pytest.raises(NoSuggestion) as refused:
        await suggest(spec, [], 1)

    assert str(refused.value).startswith("search.algorithm GP needs ")
    assert str(refused.value).endswith(
        "torch, not installed where trials are chosen: install it there, or search with Random"
    )


def _needs_optuna() -> None:
    if importlib.util.find_spec("optuna") is None or importlib.util.find_spec("cmaes") is None:
        skip_or_fail("Optuna or cmaes is missing: pip install 'quantumtrainingjob[search]'")
