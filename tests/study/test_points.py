"""Which points a study has."""

import hashlib
from unittest.mock import Mock

import pytest

from qtj_operator.core.study.plan import plan_of, unplannable, unstarted
from qtj_operator.core.study.points import grid_size, points_of
from tests.study.studies import study, trial


def test_a_grid_has_every_combination_in_the_order_of_the_spec() -> None:
    spec = study(parameters=[{"name": "rate", "values": [0.1, 0.3]}, {"name": "depth", "values": [1, 2]}])

    assert points_of(spec) == (
        (("rate", 0.1), ("depth", 1)),
        (("rate", 0.1), ("depth", 2)),
        (("rate", 0.3), ("depth", 1)),
        (("rate", 0.3), ("depth", 2)),
    )


@pytest.mark.parametrize(
    ("limits", "values"),
    [
        ({"min": 0, "max": 0.4, "points": 5}, [0, 0.1, 0.2, 0.3, 0.4]),
        ({"min": 0.001, "max": 0.1, "scale": "Log", "points": 3}, [0.001, 0.01, 0.1]),
        ({"min": 2, "max": 4, "integer": True}, [2, 3, 4]),
        ({"min": 1, "max": 3, "integer": True, "points": 9}, [1, 2, 3]),
        ({"min": 1, "max": 100, "integer": True, "scale": "Log", "points": 3}, [1, 10, 100]),
    ],
)
def test_a_range_on_a_grid(limits: dict[str, object], values: list[float]) -> None:
    spec = study(parameters=[{"name": "x", "range": limits}])

    assert [dict(point)["x"] for point in points_of(spec)] == values
    assert all(isinstance(dict(point)["x"], int) for point in points_of(spec)) == bool(limits.get("integer"))
    assert grid_size(spec.parameters) >= len(values)


def test_a_drawn_point_depends_on_seed_and_number_alone() -> None:
    def drawn(trials: int, seed: int) -> tuple[object, ...]:
        limits = {"min": 1e-4, "max": 1, "scale": "Log"}
        search = {"algorithm": "Random", "seed": seed}
        return points_of(study(parameters=[{"name": "x", "range": limits}], search=search, maxTrials=trials))

    assert drawn(20, 1)[:5] == drawn(10, 1)
    assert drawn(20, 1) != drawn(20, 2)
    assert len(drawn(20, 1)) == 10, "each point takes two trials, because there are two seeds"


def test_drawn_values_are_spread_over_the_whole_range() -> None:
    parameters = [
        {"name": "log", "range": {"min": 1e-4, "max": 1, "scale": "Log"}},
        {"name": "whole", "range": {"min": 1, "max": 4, "integer": True}},
        {"name": "kind", "values": ["a", "b"]},
    ]
    spec = study(parameters=parameters, seeds=None, search={"algorithm": "Random"}, maxTrials=400)

    points = [dict(point) for point in points_of(spec)]

    assert {point["whole"] for point in points} == {1, 2, 3, 4}
    assert 150 < sum(point["kind"] == "a" for point in points) < 250
    below = sum(float(point["log"]) < 0.01 for point in points)
    assert 150 < below < 250, "half of the logarithms are below the middle"


def test_drawn_points_differ_and_end_where_there_are_no_more() -> None:
    parameters = [{"name": "x", "range": {"min": 1, "max": 3, "integer": True}}]
    spec = study(parameters=parameters, seeds=None, search={"algorithm": "Random"}, maxTrials=50)

    assert sorted(dict(point)["x"] for point in points_of(spec)) == [1, 2, 3]


@pytest.mark.parametrize("seed", [0, 3])
def test_a_draw_of_all_points_that_there_are_misses_none(seed: int) -> None:
    parameters = [{"name": name, "values": [1, 2, 3]} for name in "abcdef"]
    spec = study(parameters=parameters, seeds=None, search={"algorithm": "Random", "seed": seed}, maxTrials=729)

    assert len(set(points_of(spec))) == 729


def test_points_of_few_values_are_drawn_no_more_often_than_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass over a study asks for them several times, and the operator has many studies."""
    drawn = Mock(side_effect=hashlib.sha256)
    monkeypatch.setattr("hashlib.sha256", drawn)
    parameters = [{"name": name, "values": values} for name, values in (("a", [1, 2]), ("b", [0.5]), ("c", ["x", "y"]))]
    spec = study(parameters=parameters, seeds=None, search={"algorithm": "Random", "seed": 77}, maxTrials=1000)

    assert [len(points_of(spec)) for _ in range(5)] == [4] * 5
    assert 0 < drawn.call_count < 100 * len(parameters)


def test_all_points_are_run_with_the_first_seed_before_one_is_run_with_the_second() -> None:
    plan = [(dict(each.point)["learning-rate"], each.seed) for each in plan_of(study())]

    assert plan == [(0.01, 0), (0.1, 0), (0.01, 1), (0.1, 1)]


def test_what_has_started_is_not_planned_again_and_more_seeds_add_trials() -> None:
    trials = [trial(1, 0.01, 0, mse=1.0), trial(2, 0.1, 0), trial(3, 0.01, 1, failed="it broke"), trial(4, 0.1, 1)]

    left = unstarted(plan_of(study(seeds={"count": 3})), trials)

    assert [(dict(each.point)["learning-rate"], each.seed) for each in left] == [(0.01, 2), (0.1, 2)]


def test_a_grid_of_a_billion_points_is_refused_and_never_made() -> None:
    spec = study(parameters=[{"name": name, "range": {"min": 0, "max": 1, "points": 1000}} for name in "abc"])

    assert unplannable(spec) == (
        "the grid has 1,000,000,000 points, each with 2 seeds, and 1,000 is the most trials: take fewer values, or "
        "search with Random"
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, None),
        ({"maxTrials": 4}, None),
        ({"maxTrials": 3}, "the grid has 2 points, each with 2 seeds, and 3 is the most trials"),
        ({"search": {"algorithm": "Random"}}, "write spec.maxTrials"),
        ({"search": {"algorithm": "Random"}, "maxTrials": 1}, "maxTrials is 1, and one point takes 2 seeds"),
        ({"parameters": [{"name": "x", "range": {"min": 0, "max": 1}}]}, "a grid needs the number of values of x"),
    ],
)
def test_a_plan_that_cannot_be_made(fields: dict[str, object], sentence: str | None) -> None:
    found = unplannable(study(**fields))

    assert found == sentence if sentence is None else sentence in (found or "")
