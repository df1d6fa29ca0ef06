"""TensorBoard as it is pinned: a real process, over HTTP, beside a training of two workers."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from qtj_simulator.fused.build import compiler
from tests.trainer.processes import Process, Trainer
from tools.background import free_ports, wait_until

FOREVER = ("--qubits", "4", "--rounds", "2", "--epochs", "1000000")


class TensorBoard:
    """A TensorBoard of this environment."""

    def __init__(self, logs: Path, output: Path, *options: str) -> None:
        (self._port,) = free_ports(1)
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logs), "--port", str(self._port), *options]
        with output.open("w") as file:
            self.process = subprocess.Popen([*command, "--reload_interval", "1"], stdout=file, stderr=file)
        wait_until(lambda: self.process.poll() is not None or self._answers())
        assert self.process.poll() is None, output.read_text()

    def post(self, path: str, body: Any) -> Any:
        return self.get(path, json.dumps(body).encode())

    def get(self, path: str, body: bytes | None = None) -> Any:
        asked = Request(f"http://127.0.0.1:{self._port}/data/{path}", body, {"Content-Type": "application/json"})
        with urlopen(asked, timeout=120) as answer:
            body = answer.read()
            return json.loads(gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body)

    def _answers(self) -> bool:
        with suppress(OSError):
            return bool(self.get("plugins_listing"))
        return False


@pytest.fixture
def workers(request: pytest.FixtureRequest, trainer: Trainer, tmp_path: Path) -> Iterator[list[Process]]:
    count = getattr(request, "param", 1)
    workers = trainer.start_cluster(count, "train", "qcnn", *FOREVER, "--artifacts", str(tmp_path))
    yield workers
    for worker in workers:
        worker.kill()


@pytest.fixture
def board(workers: list[Process], tmp_path: Path) -> Iterator[TensorBoard]:
    """Looks at the logs of a training that is under way."""
    workers[0].wait_for("epoch       2/")
    board = TensorBoard(tmp_path / "logs", tmp_path / "output")
    yield board
    board.process.kill()
    board.process.wait()


def test_tensorboard_shows_the_curves_of_a_training(board: TensorBoard) -> None:
    def curves() -> Any:
        return {run: tags for run, tags in board.get("plugin/scalars/tags").items() if tags}

    wait_until(lambda: len(curves()) == len(("train", "validation")))

    for run, tags in curves().items():
        [(_, step, loss), *_] = board.get(f"plugin/scalars/scalars?run={run}&tag=loss")
        assert run.endswith(("/train", "/validation"))
        assert {"loss", "mse"} <= set(tags)
        assert step >= 1
        assert 0 < loss < 2


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
@pytest.mark.parametrize("workers", [2], indirect=True)
def test_tensorboard_takes_a_profile_of_both_workers(
    board: TensorBoard, workers: list[Process], tmp_path: Path
) -> None:
    asked = ",".join(f"127.0.0.1:{worker.environment['QTJ_PROFILER_PORT']}" for worker in workers)

    answer = board.get(
        f"plugin/profile/capture_profile?service_addr={asked}&is_tpu_name=false&duration=300&num_retry=10&worker_list="
    )

    hosts = sorted(asked.replace(":", "_").split(","))
    files = sorted((tmp_path / "logs").glob("plugins/profile/*/*.xplane.pb"))
    assert "result" in answer, answer
    assert [file.name for file in files] == [f"{host}.xplane.pb" for host in hosts]
    assert board.get("plugin/profile/runs") == [f"{files[0].parent.name}"]
    assert [worker.popen.poll() for worker in workers] == [None, None]
