"""TensorBoard of a real run, as its image has it: curves, histograms, and a profile of both workers in a browser."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from playwright.sync_api import Browser

from tests.browser.tensorboard import Point, TensorBoard
from tests.controller.apiserver import free_port
from tests.local.laptop import REPOSITORY, Laptop, eventually

pytestmark = pytest.mark.slow
EPOCHS = 300
STEPS = 7 * EPOCHS
"""Long enough for the profile."""


@dataclass(frozen=True)
class Served:
    """A run and the TensorBoard that shows it."""

    laptop: Laptop
    address: str

    @property
    def last_epoch(self) -> dict[str, float]:
        """What the run recorded of its last epoch."""
        last: dict[str, float] = yaml.safe_load(
            (self.laptop.artifacts("qcnn") / "progress.jsonl").read_text().splitlines()[-1]
        )
        return last


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TensorBoard with the versions of its image."""
    venv = tmp_path_factory.mktemp("tensorboard")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, "--clear", venv], check=True)
    pinned = ("--require-hashes", "-r", REPOSITORY / "requirements/tensorboard.txt")
    subprocess.run([uv, "pip", "install", "-q", "--python", venv / "bin/python", *pinned], check=True)
    return venv / "bin/tensorboard"


@pytest.fixture(scope="module")
def served(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The example with a profile that was captured through TensorBoard while it trained."""
    with ExitStack() as cleanup:
        laptop = Laptop(tmp_path_factory.mktemp("laptop"), cleanup)
        job = yaml.safe_load((REPOSITORY / "examples/qcnn.yaml").read_text())
        job["spec"]["template"]["spec"]["containers"][0]["args"][2] = f"--epochs={EPOCHS}"
        laptop.write(job)
        running = laptop.start("run", "job.yaml")
        eventually(lambda: laptop.epoch("qcnn") >= 2, seconds=300)
        address = cleanup.enter_context(_tensorboard(program, laptop.artifacts("qcnn") / "logs"))
        _capture(laptop, address)
        ended = running.end(seconds=600)
        assert ended.code == 0, ended.errors
    with _tensorboard(program, laptop.artifacts("qcnn") / "logs") as address:  # which has read everything at once
        yield Served(laptop, address)


@contextmanager
def _tensorboard(program: Path, logs: Path) -> Iterator[str]:
    address = f"http://127.0.0.1:{(port := free_port())}/"
    words = (f"--logdir={logs}", f"--port={port}", "--host=127.0.0.1", "--load_fast=false")
    with subprocess.Popen([program, *words], stderr=subprocess.DEVNULL) as process:
        try:
            eventually(lambda: "train" in _read(f"{address}data/plugin/scalars/tags"), seconds=300)
            yield address
        finally:
            process.send_signal(signal.SIGINT)


def _read(address: str) -> str:
    with suppress(OSError), urlopen(address, timeout=120) as answer:
        found: str = answer.read().decode(errors="replace")
        return found
    return ""


def _capture(laptop: Laptop, address: str) -> None:
    """Captures a profile of both workers, by what TensorBoard's button asks for."""
    ports = [
        re.findall(rb"QTJ_PROFILER_PORT=(\d+)", Path(f"/proc/{laptop.worker(index)}/environ").read_bytes())[0].decode()
        for index in (0, 1)
    ]
    of = ",".join(f"127.0.0.1:{port}" for port in ports)
    _read(f"{address}data/plugin/profile/capture_profile?service_addr={of}&duration=800&num_retry=3&worker_list=")
    files = list((laptop.artifacts("qcnn") / "logs").glob("plugins/profile/*/*.xplane.pb"))
    assert len(files) == 2, f"{of} wrote {files}"


@pytest.mark.parametrize(("curve", "recorded"), [("train", "loss"), ("validation", "validationLoss")])
def test_the_curves_end_with_the_last_epoch(browser: Browser, served: Served, curve: str, recorded: str) -> None:
    found = TensorBoard(browser, served.address).last_point("loss", f"/{curve}")

    assert found == Point(STEPS, pytest.approx(served.last_epoch[recorded], abs=1e-4))


def test_readouts_and_weights_are_drawn_as_histograms(browser: Browser, served: Served) -> None:
    board = TensorBoard(browser, served.address)

    assert board.histogram("readouts/expectation") > 10
    assert board.histogram("weights/expectation/angles") > 10


def test_a_profile_has_an_overview_and_a_trace_of_each_worker(browser: Browser, served: Served) -> None:
    board = TensorBoard(browser, served.address)

    assert "Performance Summary" in board.overview()
    assert len(set(board.traced())) == 2


def test_options_are_shown_if_the_trainer_writes_them(browser: Browser, served: Served) -> None:
    if "session_start" not in _read(f"{served.address}data/plugin/hparams/experiment"):
        pytest.skip("the trainer writes no hyperparameters yet")
    (row,) = TensorBoard(browser, served.address).options()

    assert float(row["batch_size"]) == 16
