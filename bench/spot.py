"""`make bench-spot`, second part: goodput of a job of four workers whose nodes are preempted at random.

The operator decides as on a cluster, by a clock that is simulated. How long pods, programs and nodes take is assumed:
see `bench.spot_cluster`. Nothing here runs a training.
"""

import argparse
import asyncio
from collections.abc import Iterator
from statistics import median

from bench.spot_cluster import Course, Times, simulated

_MINUTES = (1, 5, 30)


def table(preemptions: int, nodes: list[float], seed: int) -> Iterator[str]:
    """Yields the lines of a Markdown table."""
    yield "| a preemption every | a new node after | elastic | goodput | to the next step, median | longest |"
    yield "|---|---|---|---|---|---|"
    for minutes in _MINUTES:
        for node in nodes:
            for elastic in (False, True):
                times = Times(node=node)
                hours = preemptions * minutes / 60
                course = asyncio.run(
                    simulated(elastic=elastic, every=60.0 * minutes, hours=hours, times=times, seed=seed)
                )
                cells = (f"{minutes} min", f"{node:.0f} s", "yes" if elastic else "no", *_numbers(course))
                yield f"| {' | '.join(cells)} |"


def _numbers(course: Course) -> tuple[str, ...]:
    gaps = course.gaps or [float("nan")]
    return f"{course.goodput:.0%}", f"{median(gaps):.0f} s", f"{max(gaps):.0f} s"


def main() -> None:
    """Prints the table line by line."""
    parser = argparse.ArgumentParser(prog="python -m bench.spot", description=__doc__)
    parser.add_argument("--preemptions", type=int, default=60, help="how many each job has, on average")
    parser.add_argument("--nodes", type=float, nargs="+", default=[60, 600], help="seconds until there is a new node")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for line in table(options.preemptions, options.nodes, options.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
