"""`make bench-start`: from `qtj run` to the first optimizer step of `qcnn` at 8 qubits, part by part.

Each row has the medians of several starts: seconds of processor time, which other work on the machine changes little,
and seconds that passed. With `--before FOLDER`, the sources of another checkout take turns with those of this one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import yaml

from bench.start_parts import BEGAN, PARTS
from tools.cluster.paths import REPO

Start = Mapping[str, tuple[float, float]]
"""Processor time and wall-clock time of each part."""

_ARGUMENTS = ("train", "qcnn", "--qubits=8", "--rounds=20", "--epochs=1", "--seed=0")


def start(sources: Path) -> Start:
    """Returns the parts of one start with the sources of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        parts = Path(folder, "parts.json")
        Path(folder, "job.yaml").write_text(yaml.safe_dump(_job()))
        paths = os.pathsep.join(map(str, (sources / "operator", sources / "trainer", REPO)))
        environment = os.environ | {"PYTHONPATH": paths, PARTS: str(parts), BEGAN: str(time.time())}
        command = [sys.executable, "-m", "qtj", "run", "job.yaml"]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if not parts.exists():
            raise SystemExit(f"the job did not reach its first step:\n{ended.stdout}{ended.stderr}")
        measured: Start = json.loads(parts.read_text())
        return measured


def _job() -> Mapping[str, object]:
    container = {
        "name": "trainer",
        "image": "trainer",
        "command": [sys.executable, "-m", "bench.start_parts"],
        "args": [*_ARGUMENTS],
    }
    return {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingJob",
        "metadata": {"name": "start"},
        "spec": {
            "artifacts": {"uri": "gs://bucket/start"},
            "replicaSpecs": {"Worker": {"replicas": 1}},
            "template": {"spec": {"containers": [container]}},
        },
    }


def table(columns: Mapping[str, Sequence[Start]]) -> Iterator[str]:
    """The lines of a Markdown table: for each checkout, the medians of both times."""
    yield "| part |" + "".join(f" {name}processor | {name}wall |" for name in columns)
    yield "|---" * (1 + 2 * len(columns)) + "|"
    for part in next(iter(columns.values()))[0]:
        yield _line(part, [[each[part] for each in starts] for starts in columns.values()])
    yield _line("all", [[_whole(each) for each in starts] for starts in columns.values()])


def _whole(one: Start) -> tuple[float, float]:
    return sum(each[0] for each in one.values()), sum(each[1] for each in one.values())


def _line(part: str, columns: Sequence[Sequence[tuple[float, float]]]) -> str:
    cells = [f"{median(times):.2f}" for column in columns for times in zip(*column, strict=True)]
    return f"| {' | '.join([part, *cells])} |"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--before", type=Path, help="another checkout, which is measured too")
    options = parser.parse_args()
    checkouts = {"before, ": options.before.absolute(), "now, ": REPO} if options.before else {"": REPO}
    columns: dict[str, list[Start]] = {name: [] for name in checkouts}
    for _ in range(options.starts):
        for name, sources in checkouts.items():
            columns[name].append(start(sources))
    print(*table(columns), sep="\n")


if __name__ == "__main__":
    main()
