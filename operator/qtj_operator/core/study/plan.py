"""The trials of a study: each point with each seed, and which of them have not started."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qtj_operator.api.limits import MOST_BYTES
from qtj_operator.api.study import MAX_TRIALS, Algorithm, StudySpec
from qtj_operator.api.study_parameters import Value
from qtj_operator.api.study_status import TrialPhase, TrialStatus
from qtj_operator.core.study.points import Point, grid_size, points_of
from qtj_operator.manifests.trial import most_bytes

__all__ = ["Setting", "is_searched", "known_plan", "plan_of", "searched", "size_of", "unplannable", "unstarted"]

_ALL_BYTES = 16 * 1024 * 1024
"""The most bytes of all jobs of a study. The operator keeps them in memory, and a study is one small object. 1,000
trials may have 16 KB each; a large job has 10."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What one trial is run with.

    Attributes:
        point: The values of its parameters.
        seed: Its seed; None for the program's own.
        is_final: Whether it trains the best point again.
    """

    point: Point
    seed: int | None
    is_final: bool = False

    def trial(self, number: int) -> TrialStatus:
        """Returns the trial with this number, as it is recorded before it runs."""
        final = self.is_final or None
        values = dict(self.point)
        return TrialStatus(number=number, parameters=values, seed=self.seed, final=final, phase=TrialPhase.RUNNING)


def searched(trials: Iterable[TrialStatus]) -> list[TrialStatus]:
    """Returns the trials that look for the best point, without those that train it again."""
    return [each for each in trials if not each.final]


def plan_of(spec: StudySpec) -> tuple[Setting, ...]:
    """Returns all trials in the order of their start: every point with the first seed, then with the second.

    So all points can be compared early.
    """
    points = points_of(spec)
    return tuple(Setting(point, seed) for seed in spec.seed_numbers for point in points)


def known_plan(spec: StudySpec, trials: Iterable[TrialStatus], suggested: Iterable[Point] = ()) -> tuple[Setting, ...]:
    """Returns all trials that are known by now, in the order of their start.

    A search that learns has the points of its trials, each with all seeds before the next, and those suggested.
    """
    if not spec.learns:
        return plan_of(spec)
    names = [each.name for each in spec.parameters]
    ours = [each.parameters for each in searched(trials) if each.parameters.keys() == set(names)]
    points = dict.fromkeys((*(tuple((name, values[name]) for name in names) for values in ours), *suggested))
    return tuple(Setting(point, seed) for point in points for seed in spec.seed_numbers)


def unstarted(plan: Iterable[Setting], trials: Sequence[TrialStatus]) -> tuple[Setting, ...]:
    """Returns what of the plan no trial stands for yet, without further seeds of a point with a stopped trial."""
    stopped = {_point_of(each) for each in trials if each.phase == TrialPhase.STOPPED}
    return tuple(each for each in _new(plan, trials) if frozenset(each.point) not in stopped)


def size_of(spec: StudySpec, trials: Sequence[TrialStatus] = ()) -> int:
    """Returns how many trials a study has, without those that do not start because their point was stopped."""
    plan = known_plan(spec, trials)
    return len(plan_of(spec)) - len(_new(plan, trials)) + len(unstarted(plan, trials))


def is_searched(spec: StudySpec, trials: Sequence[TrialStatus]) -> bool:
    """Tells whether all trials have finished that look for the best point."""
    plan = known_plan(spec, trials)
    is_over = all(each.is_over for each in searched(trials))
    return is_over and len(plan) >= len(plan_of(spec)) and not unstarted(plan, trials)


def _new(plan: Iterable[Setting], trials: Iterable[TrialStatus]) -> list[Setting]:
    started = {(_point_of(each), each.seed) for each in searched(trials)}
    return [each for each in plan if (frozenset(each.point), each.seed) not in started]


def _point_of(trial: TrialStatus) -> frozenset[tuple[str, Value]]:
    return frozenset(trial.parameters.items())


def unplannable(spec: StudySpec) -> str | None:
    """Returns why the trials of a study cannot be listed, or their jobs not be read; None if they can be."""
    return _unlistable(spec) or _too_large(spec)


def _too_large(spec: StudySpec) -> str | None:
    added = spec.final.parameters if spec.final else None
    plan = plan_of(spec)
    size = most_bytes(spec.job_template, [*(dict(each.point) for each in plan), added or {}])
    trials = len(plan) + len(spec.final_seeds)
    if size > MOST_BYTES:
        what, most = "the job of a trial", MOST_BYTES
    elif size * trials > _ALL_BYTES:
        what, most, size = f"the jobs of {_counted(trials, 'trial')}", _ALL_BYTES, size * trials
    else:
        return None
    return f"{what} would have up to {size:,} bytes, and at most {most:,} are read: shorten jobTemplate or the values"


def _unlistable(spec: StudySpec) -> str | None:
    seeds = len(spec.seed_numbers)
    if spec.search and spec.search.algorithm == Algorithm.CMA_ES and not any(each.range for each in spec.parameters):
        return "CMA-ES moves the numbers of ranges, and no parameter has a range: search with TPE or Random"
    if spec.is_drawn:
        return _undrawable(spec.max_trials, seeds) or _too_many(spec, spec.limit)
    for each in spec.parameters:
        if each.range and each.range.points is None and not each.range.integer:
            return f"a grid needs the number of values of {each.name}: write range.points, or search with Random"
    points = grid_size(spec.parameters)
    if points * seeds <= spec.limit:
        return _too_many(spec, points * seeds)
    return (
        f"the grid has {_counted(points, 'point')}, each with {_counted(seeds, 'seed')}, and {spec.limit:,} is the "
        "most trials: take fewer values, or search with Random"
    )


def _too_many(spec: StudySpec, trials: int) -> str | None:
    final = len(spec.final_seeds)
    if trials + final <= MAX_TRIALS:
        return None
    return (
        f"{_counted(trials, 'trial')} and {final:,} of the final training are more than {MAX_TRIALS:,}: "
        "lower final.seeds.count, or take fewer values"
    )


def _undrawable(limit: int | None, seeds: int) -> str | None:
    if limit is None:
        return "Random, TPE, GP and CMA-ES choose points until there are maxTrials trials: write spec.maxTrials"
    if limit < seeds:
        return f"maxTrials is {limit}, and one point takes {_counted(seeds, 'seed')}: raise it"
    return None


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"
