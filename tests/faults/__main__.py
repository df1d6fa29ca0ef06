"""`make test-faults`: every scenario with every fault, then random lives."""

import argparse
import sys

from tests.faults.cases import divergences
from tests.faults.lives import failures
from tests.faults.scenarios import SCENARIOS

LIVES = 200


def main() -> int:
    """Runs all cases; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--lives", type=int, help="play so many random lives and nothing else, new ones each time")
    lives: int | None = parser.parse_args().lives
    run, failed = (0, 0) if lives else _cases()
    run += lives or LIVES
    for failure in failures(lives or LIVES, other_ones=lives is not None):
        failed += 1
        print(f"FAIL a random life: {failure}")
    print(f"{run:6} cases  random lives", flush=True)
    print(f"fault cases: {run} run, {failed} failed")
    return 1 if failed or not run else 0


def _cases() -> tuple[int, int]:
    """Runs every scenario with every fault; returns how many cases there were, and how many failed."""
    run = failed = 0
    for scenario in SCENARIOS:
        for problem in divergences(scenario):
            run += 1
            if problem is not None:
                failed += 1
                print(f"FAIL {problem}")
        print(f"{run:6} cases  {scenario.name}", flush=True)
    return run, failed


if __name__ == "__main__":
    sys.exit(main())
