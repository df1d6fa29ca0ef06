"""`make bench-scale`: how long many jobs take to run, beside a bare client and another operator.

All use one API server in turn, so that whatever else the machine does falls on all alike.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster.tools import KUBERNETES, KWOK, PEER, build

from bench.scale.control_plane import ControlPlane, control_plane
from bench.scale.fairness import Fairness, fairness
from bench.scale.idle import Idle, idle
from bench.scale.measure import Round, Size, floor, operator
from bench.scale.report import plot, summary, table
from bench.scale.subjects import ALL, prepare

_SIZES = ("100x4", "500x4", "1x200", "1x1000")


def main(words: Sequence[str]) -> int:
    """Measures all sizes in turn, so often; returns the exit code."""
    options = _options(words)
    for group in (KUBERNETES, KWOK, *([PEER] if "peer" in options.subjects else [])):
        build(group)
    rounds: list[Round] = []
    with TemporaryDirectory(prefix="qtj-bench-") as folder, control_plane(Path(folder)) as plane:
        prepare(plane, [ALL[subject] for subject in options.subjects])
        for _ in range(options.repeat):
            for size in options.sizes:
                for subject in ("floor", *options.subjects):
                    rounds.append(asyncio.run(_round(plane, subject, size)))
                    _note(rounds[-1], options.output)
        for subject in options.subjects:
            _note(asyncio.run(fairness(plane, ALL[subject])), options.output)
            if options.idle:
                _note(asyncio.run(idle(plane, ALL[subject], options.finished, options.idle)), options.output)
    if options.plot:
        plot(rounds, options.plot)
    print("\n".join(["", *table(rounds), "", summary(rounds)]))
    return 0


async def _round(plane: ControlPlane, subject: str, size: Size) -> Round:
    return await (floor(plane, size) if subject == "floor" else operator(plane, ALL[subject], size))


def _note(result: Round | Idle | Fairness, path: Path | None) -> None:
    line = json.dumps({"what": type(result).__name__.lower(), **result.as_dict()})
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
    option("--repeat", type=int, default=3, metavar="N", help="rounds (default: 3)")
    option("--idle", type=float, default=300, metavar="SECONDS", help="beside finished jobs; 0 for not at all")
    option("--finished", type=_size, default=_size("500x4"), help="those jobs (default: 500x4)")
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
