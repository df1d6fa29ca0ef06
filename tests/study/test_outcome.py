"""Mean, spread and interval of a point, and which point is best."""

import math

import pytest

from qtj_operator.core.study.outcome import best_of, outcomes_of, two_sided_quantile
from tests.study.studies import study, trial


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (30, 2.042), (999, 1.962)],
)
def test_quantiles_are_those_of_the_table_of_students_distribution(freedom: int, quantile: float) -> None:
    assert two_sided_quantile(0.95, freedom) == pytest.approx(quantile, abs=5e-4)


@pytest.mark.parametrize("freedom", range(1, 20))
def test_the_quantile_is_that_of_the_integrated_density(freedom: int) -> None:
    t, steps = two_sided_quantile(0.9, freedom), 20_000
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    width = t / steps
    middles = ((number + 0.5) * width for number in range(steps))
    inside = 2 * width * math.fsum(scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2) for x in middles)

    assert inside == pytest.approx(0.9, abs=1e-7)


def test_mean_deviation_and_interval_of_three_seeds() -> None:
    trials = [trial(seed + 1, 0.01, seed, mse=mse) for seed, mse in enumerate([0.2, 0.3, 0.4])]

    first, second = outcomes_of(study(seeds={"count": 3}), trials)

    assert first.mean == pytest.approx(0.3)
    assert first.deviation == pytest.approx(0.1)
    assert first.margin == pytest.approx(4.302653 * 0.1 / math.sqrt(3))
    assert (second.mean, second.deviation, second.margin) == (None, None, None)


def test_one_seed_has_a_mean_and_no_interval() -> None:
    [first, _] = outcomes_of(study(), [trial(1, 0.01, 0, mse=0.2)])

    assert (first.mean, first.deviation, first.margin, first.is_over) == (0.2, None, None, False)


@pytest.mark.parametrize(
    ("statistic", "goal", "objective"),
    [
        (None, None, 0.4),
        ("Median", None, 0.2),
        ("Worst", "Minimize", 0.9),
        ("Worst", "Maximize", 0.1),
    ],
)
def test_the_statistic_over_the_seeds(statistic: str | None, goal: str | None, objective: float) -> None:
    asked = {"metric": "mse", "statistic": statistic, "goal": goal}
    trials = [trial(seed + 1, 0.01, seed, mse=mse) for seed, mse in enumerate([0.9, 0.1, 0.2])]

    [first, _] = outcomes_of(study(seeds={"count": 3}, objective=asked), trials)

    assert first.objective == pytest.approx(objective)


@pytest.mark.parametrize(("goal", "best"), [("Minimize", 0.01), ("Maximize", 0.1)])
def test_the_best_point_is_that_of_the_goal(goal: str, best: float) -> None:
    spec = study(seeds=None, objective={"metric": "mse", "goal": goal})
    trials = [trial(1, 0.01, None, mse=0.2), trial(2, 0.1, None, mse=0.3)]

    found = best_of(outcomes_of(spec, trials), spec.objective)

    assert found is not None
    assert dict(found.point) == {"learning-rate": best}


def test_a_point_is_best_only_when_all_of_its_trials_have_finished() -> None:
    spec, trials = study(), [trial(1, 0.01, 0, mse=0.1), trial(2, 0.1, 0, mse=0.3), trial(3, 0.1, 1, mse=0.4)]

    found = best_of(outcomes_of(spec, trials), spec.objective)

    assert found is not None
    assert dict(found.point) == {"learning-rate": 0.1}


def test_a_point_whose_bad_seed_failed_is_not_better_than_one_without_failures() -> None:
    spec = study()
    trials = [
        *(trial(1, 0.01, 0, mse=0.1), trial(2, 0.01, 1, failed="it broke")),
        *(trial(3, 0.1, 0, mse=0.3), trial(4, 0.1, 1, mse=0.4)),
    ]

    found = best_of(outcomes_of(spec, trials), spec.objective)

    assert found is not None
    assert dict(found.point) == {"learning-rate": 0.1}
    assert best_of(outcomes_of(spec, trials[:2]), spec.objective) is not None


def test_seeds_that_the_spec_no_longer_has_do_not_count() -> None:
    trials = [trial(1, 0.01, 0, mse=0.2), trial(2, 0.01, 7, mse=0.9)]

    [first, _] = outcomes_of(study(), trials)

    assert first.values == [0.2]


@pytest.mark.parametrize("values", [(1.7e308, 1.7e308), (1e200, -1e200), (math.inf, 1.0)])
def test_a_value_with_which_one_cannot_compute_does_not_count(values: tuple[float, float]) -> None:
    """A training that diverges reports such; an error would leave the study without a status."""
    trials = [trial(number, 0.01, number - 1, mse=value) for number, value in enumerate(values, 1)]

    outcome = outcomes_of(study(), trials)[0]

    assert [each for each in outcome.values if abs(each) > 1] == []
    assert outcome.margin is None
