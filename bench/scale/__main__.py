"""`make bench-scale`: how long many jobs take to run, beside a bare client and another operator.

All use one API server in turn, so that whatever else the machine does falls on all alike.
"""

import argparse
import json
import re
import sys
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.scale.blocks import blocks
from bench.scale.control_plane import ControlPlane, control_plane
from bench.scale.fairness import fairness
from bench.scale.goals import Result, goals
from bench.scale.guard import run
from bench.scale.idle import idle
from bench.scale.measure import Round, Size, floor, operator
from bench.scale.report import plot, summary, table
from bench.scale.subjects import ALL, prepare
from tools.cluster.tools import KUBERNETES, KWOK, PEER, build

_PARTS = ("rounds", "fairness", "idle", "blocks")
_SIZES = ("100x4", "500x4", "1x200", "1x1000")


def main(words: Sequence[str]) -> int:
    """Measures all parts; returns the exit code."""
    options = _options(words)
    for group in (KUBERNETES, KWOK, *([PEER] if "peer" in options.subjects else [])):
        build(group)
    results: list[Result] = []
    with TemporaryDirectory(prefix="qtj-bench-") as folder, control_plane(Path(folder)) as plane:
        prepare(plane, [ALL[subject] for subject in options.subjects])
        for measured in _measured(plane, options):
            results.append(run(plane, measured))
            _note(results[-1], options.output)
    rounds = [each for each in results if isinstance(each, Round)]
    if options.plot:
        plot(rounds, options.plot)
    lines = ["", *table(rounds), "", summary(rounds)] if {"ours", "floor"} <= {each.subject for each in rounds} else []
    print("\n".join([*lines, *map(str, goals(results))]))
    return 0


def _measured(plane: ControlPlane, options: argparse.Namespace) -> Iterator[Coroutine[Any, Any, Result]]:
    """Yields what is to be measured, one after the other."""
    if "rounds" in options.parts:
        for _, size, subject in product(range(options.repeat), options.sizes, ("floor", *options.subjects)):
            yield _round(plane, subject, size)
    for subject in options.subjects:
        if "fairness" in options.parts:
            yield fairness(plane, ALL[subject], options.large, options.small)
        if "idle" in options.parts and options.idle:
            yield idle(plane, ALL[subject], options.finished, options.running, options.idle)
        if "blocks" in options.parts and subject == "ours":
            for size in options.sizes:
                yield blocks(plane, ALL[subject], size)


def _round(plane: ControlPlane, subject: str, size: Size) -> Coroutine[Any, Any, Round]:
    return floor(plane, size) if subject == "floor" else operator(plane, ALL[subject], size)


def _note(result: Result, path: Path | None) -> None:
    line = json.dumps({"what": type(result).__name__.lower(), **asdict(result)})
    print(line, flush=True)
    if path:
        with path.open("a") as file:
            file.write(f"{line}\n")


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="Operators beside each other, at scale.")
    option = parser.add_argument
    option(
        "--sizes", nargs="+", type=_size, default=[_size(each) for each in _SIZES], help="as in 100x4: jobs x workers"
    )
    option("--subjects", nargs="+", choices=tuple(ALL), default=tuple(ALL), help="default: all")
    option("--parts", nargs="+", choices=_PARTS, default=_PARTS, help="what is measured (default: everything)")
    option("--repeat", type=int, default=3, metavar="N", help="rounds (default: 3)")
    option("--idle", type=float, default=300, metavar="SECONDS", help="beside finished jobs; 0 for not at all")
    option("--finished", type=_size, default=_size("500x4"), help="those jobs (default: 500x4)")
    option("--running", type=int, default=100, metavar="N", help="jobs that run beside them (default: 100)")
    option("--large", type=int, default=500, metavar="N", help="replicas of the job that delays others (default: 500)")
    option("--small", type=int, default=50, metavar="N", help="jobs behind it (default: 50)")
    option("--output", type=Path, metavar="FILE", help="a JSON line for each round is added to it")
    option("--plot", type=Path, metavar="FILE", help="the picture")
    return parser.parse_args(words)


def _size(text: str) -> Size:
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 100x4: jobs x workers")
    return Size(int(found[1]), int(found[2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
