"""`make test-faults`: the scenarios with faults at writes, at events and between passes, then random lives."""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.faults.board_lives import BoardLife
from tests.faults.board_scenarios import BOARD_SCENARIOS
from tests.faults.cases import divergences
from tests.faults.elastic_scenarios import ELASTIC_SCENARIOS
from tests.faults.lives import AnyLife, failures
from tests.faults.scale_scenarios import SCALE_SCENARIOS
from tests.faults.scenarios import SCENARIOS

LIVES = 200
"""Of each kind, the same ones each time; `make test-long` plays thousands of others."""
LIFE_KINDS = {"random lives": AnyLife, "random lives with TensorBoard": BoardLife}
ALL_SCENARIOS = (*SCENARIOS, *SCALE_SCENARIOS, *ELASTIC_SCENARIOS, *BOARD_SCENARIOS)


def main() -> int:
    """Runs all cases, as many side by side as there are processors; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--lives", type=int, help="play so many random lives and nothing else, new ones each time")
    parser.add_argument(
        "--every-fault", action="store_true", help="give each write every fault, and each event every trouble"
    )
    options = parser.parse_args()
    lives: int | None = options.lives
    run = failed = 0
    with ProcessPoolExecutor() as pool:
        drawn = [pool.submit(_random_lives, kind, lives or LIVES, other_ones=lives is not None) for kind in LIFE_KINDS]
        numbers = [] if lives else range(len(ALL_SCENARIOS))
        scenarios = [pool.submit(_scenario, number, every_fault=options.every_fault) for number in numbers]
        for name, cases, problems in (played.result() for played in (*scenarios, *drawn)):
            run, failed = run + cases, failed + len(problems)
            for problem in problems:
                print(f"FAIL {problem}")
            print(f"{run:6} cases  {name}", flush=True)
    print(f"fault cases: {run} run, {failed} failed")
    return 1 if failed or not run else 0


def _scenario(number: int, *, every_fault: bool) -> tuple[str, int, list[str]]:
    """Runs a scenario with its faults; returns its name, how many cases there were, and what failed."""
    scenario = ALL_SCENARIOS[number]
    cases = list(divergences(scenario, every_fault=every_fault))
    return scenario.name, len(cases), [problem for problem in cases if problem is not None]


def _random_lives(kind: str, lives: int, *, other_ones: bool) -> tuple[str, int, list[str]]:
    found = failures(lives, other_ones=other_ones, machine=LIFE_KINDS[kind])
    return kind, lives, [f"one of the {kind}: {each}" for each in found]


if __name__ == "__main__":
    sys.exit(main())
