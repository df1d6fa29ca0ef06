"""Damaged records of a run: each command tells what it can, and never ends in a traceback."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qtj_contract import Progress
from qtj_contract.origin import Origin
from qtj_contract.program_source import ProgramSource
from qtj_contract.progress_log import progress_line
from qtj_contract.stored_source import origin_name, stored_files
from tests.cli.left import NOON
from tests.cli.qtj import qtj
from tests.cli.recorded import make_run, recorded
from tests.fuzz.corpus import mutants, new_seed
from tests.local.laptop import toy_job

pytestmark = pytest.mark.slow
COMMANDS = (
    ["list"], ["list", "-o", "json"], ["status", "toy"], ["status", "toy", "-o", "yaml"], ["events", "toy"],
    ["logs", "toy"], ["report", "toy"], ["report", "toy", "-o", "json"],
)  # fmt: skip
EVENT = {
    "involvedObject": {"kind": "QuantumTrainingJob", "name": "toy", "uid": "uid-toy"},
    "type": "Normal", "reason": "AllReplicasReady", "message": "ready", "firstTimestamp": "2026-11-23T12:00:05Z",
    "metadata": {"name": "e1"},
}  # fmt: skip
POD = {
    "metadata": {"name": "toy-worker-0", "namespace": "default", "uid": "u", "labels": {
        "quantumtraining.dev/job": "toy", "quantumtraining.dev/role": "worker", "quantumtraining.dev/index": "0",
        "quantumtraining.dev/attempt": "1"}},
    "spec": {"containers": [{"name": "trainer"}], "nodeName": "here"},
    "status": {"phase": "Running", "containerStatuses": [{"name": "trainer", "ready": True}]},
}  # fmt: skip


@pytest.fixture
def run(folder: Path) -> Path:
    """The folder of a run with all that a run leaves."""
    status: dict[str, Any] = {
        "phase": "Failed", "attempt": 2, "restarts": 1, "startTime": "2026-11-23T12:00:00Z",
        "progress": {"epoch": 2, "epochs": 3, "loss": 0.5},
        "conditions": [{"type": "Failed", "status": "True", "reason": "ReplicaFailed", "message": "it broke",
                        "lastTransitionTime": "2026-11-23T12:05:00Z"}],
        "failures": [{"pod": "toy-worker-0", "attempt": 1, "exitCode": 3, "reason": "Error", "message": "it broke"}],
    }  # fmt: skip
    place = make_run(**status).path
    weights = place / "weights"
    weights.mkdir()
    (weights / "1f3c.h5").write_bytes(b"weights")
    (weights / "1f3c.json").write_text(json.dumps({"workload": "toy", "options": {"seed": 7}, "versions": {"a": "1"}}))
    named = {"uri": (weights / "1f3c.h5").as_uri(), "sha256": "ab" * 32}
    record = recorded(spec=toy_job()["spec"], **status, weights=named)
    (place / "job.json").write_text(json.dumps(record))
    (weights / "1f3c.predictions.json").write_text(
        '{"task": "regression", "labels": [0.0, 2.0], "predictions": [0.0, 1.5], "examples": 2}'
    )
    (place / "result.json").write_text(json.dumps({"metrics": {"mse": 0.5}, "jobUid": "uid-toy"}))
    lines = (progress_line(Progress(epoch=number, epochs=3, loss=1 / number), 1, NOON) for number in (1, 2))
    (place / "progress.jsonl").write_text("".join(lines))
    (place / "events.jsonl").write_text(json.dumps(EVENT) + "\n")
    (place / "pods.jsonl").write_text(json.dumps({"type": "ADDED", "object": POD}) + "\n")
    (place / "activity.jsonl").write_text('{"time": "2026-11-23T12:00:01Z", "activity": "compiling"}\n')
    source = ProgramSource(script="toy.py", code={"toy.py": "RATE = 0.1\n"}, data={}, arguments=["--seed", "1"])
    origin = Origin(commit="3f2a91c0", machine="Xeon", versions={"python": "3.11.2"})
    for name, data in {**stored_files({"toy.py": source}, 1), origin_name(1): origin.to_bytes()}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    (place / "logs/toy-worker-0.1.log").write_bytes(b"one line\n\x1b[31mred\n")
    return place


def test_a_whole_run_is_told_by_each_command(run: Path) -> None:
    assert [qtj(*words).code for words in COMMANDS] == [0] * len(COMMANDS)


ENDLESS: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "nested deeply": lambda path: path.write_text('{"a":' * 100_000),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_stands_in_place_of_a_record_stops_no_command(run: Path, kind: str) -> None:
    for path in sorted(path for path in run.rglob("*") if path.is_file()):
        good = path.read_bytes()
        path.unlink()
        ENDLESS[kind](path)
        for words in COMMANDS:
            assert qtj(*words).code in {0, 2}, (path, words)
        path.rmdir() if path.is_dir() else path.unlink()
        path.write_bytes(good)


def test_no_damaged_record_ends_in_a_traceback(run: Path) -> None:
    seed, codes = new_seed(), Counter[int]()
    kept = {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}

    for path, good in kept.items():
        for number, data in enumerate(mutants([good], 40, seed)):
            path.write_bytes(data)
            words = COMMANDS[number % len(COMMANDS)]
            try:
                codes[qtj(*words).code] += 1
            except BaseException as problem:
                name = path.relative_to(run)
                raise AssertionError(f"seed {seed}, {words}, {name} {number}: {data[:2000]!r}") from problem
        path.write_bytes(good)

    assert codes[0] > 100
    assert set(codes) <= {0, 2}
