"""Profiles that two workers take of themselves, and TensorBoard, which finds them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from qtj_contract import CaptureRecord
from qtj_simulator.fused.build import compiler
from tests.trainer.processes import Ended, Trainer
from tests.trainer.test_captures import LOGS, steps_of
from tests.trainer.test_tensorboard import TensorBoard
from tools.background import wait_until

CAPTURES = [{"epoch": 2, "steps": 3}, {"step": 9, "steps": 2}]
SMALL = ("train", "qcnn", "--qubits", "4", "--rounds", "8", "--epochs", "5", "--batch-size", "8")
"""22 training examples: 3 steps in an epoch."""

UID = {"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1"}
HOSTS = ("worker-0", "worker-1")

pytestmark = pytest.mark.slow  # `make e2e` profiles two workers too


@dataclass(frozen=True)
class Captured:
    artifacts: Path
    leader: Ended


@pytest.fixture(scope="module")
def captured(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    artifacts = tmp_path_factory.mktemp("artifacts")
    options = (*SMALL, "--artifacts", str(artifacts))
    leader, follower = trainer.run_cluster(2, *options, QTJ_PROFILER_CAPTURES=json.dumps(CAPTURES), **UID)
    assert (leader.code, follower.code) == (0, 0), leader.errors + follower.errors
    return Captured(artifacts, leader)


@pytest.fixture
def board(captured: Captured, tmp_path: Path) -> Iterator[TensorBoard]:
    board = TensorBoard(captured.artifacts / "logs", tmp_path / "output")
    yield board
    board.process.kill()
    board.process.wait()


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_all_workers_are_captured_at_the_same_steps(captured: Captured) -> None:
    for name, steps in {"epoch-2": [4, 5, 6], "step-9": [9, 10]}.items():
        folder = captured.artifacts / LOGS / name
        assert {host: steps_of(folder / f"{host}.xplane.pb") for host in HOSTS} == dict.fromkeys(HOSTS, steps)


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_the_leader_reports_the_captures_of_all(captured: Captured) -> None:
    assert captured.leader.message is not None
    assert captured.leader.message.progress is not None
    assert captured.leader.message.progress.captures == (
        CaptureRecord("epoch-2", "Stored", f"{LOGS}/epoch-2"),
        CaptureRecord("step-9", "Stored", f"{LOGS}/step-9"),
    )


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_tensorboard_finds_them_with_an_entry_for_each_worker(board: TensorBoard) -> None:
    runs = {f"qcnn-uid-1/{name}" for name in ("epoch-2", "step-9")}

    wait_until(lambda: set(board.get("plugin/profile/runs")) == runs)

    for run in runs:
        hosts = board.get(f"plugin/profile/hosts?run={run}&tag=trace_viewer@")
        assert {each["hostname"] for each in hosts} >= set(HOSTS)
