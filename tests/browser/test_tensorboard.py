"""TensorBoard of a real run, as its image has it: curves, histograms, and a profile of both workers in a browser."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser

from tests.browser.backend import capture_profile, last_step
from tests.browser.tensorboard import TensorBoard
from tests.local.laptop import REPOSITORY, Laptop
from tools.background import free_port, wait_until

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
        wait_until(lambda: laptop.trains("qcnn", epoch=2), seconds=300)
        address = cleanup.enter_context(_tensorboard(program, laptop.artifacts("qcnn") / "logs", 1))
        _capture(laptop, address)
        ended = running.end(seconds=600)
        assert ended.code == 0, ended.errors
    with _tensorboard(program, laptop.artifacts("qcnn") / "logs", STEPS) as address:
        yield Served(laptop, address)


@contextmanager
def _tensorboard(program: Path, logs: Path, least: int) -> Iterator[str]:
    """Serves logs as soon as it has read so many steps."""
    address = f"http://127.0.0.1:{(port := free_port())}/"
    words = (f"--logdir={logs}", f"--port={port}", "--host=127.0.0.1", "--load_fast=false")
    with subprocess.Popen([program, *words], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: last_step(address) >= least, seconds=300)
            yield address
        finally:
            process.send_signal(signal.SIGINT)


def _capture(laptop: Laptop, address: str) -> None:
    """Captures a profile of both workers."""
    ports = [
        re.findall(rb"QTJ_PROFILER_PORT=(\d+)", Path(f"/proc/{laptop.worker(index)}/environ").read_bytes())[0].decode()
        for index in (0, 1)
    ]
    assert capture_profile(address, [f"127.0.0.1:{port}" for port in ports]) == ""


@pytest.mark.parametrize(("curve", "recorded"), [("train", "loss"), ("validation", "validationLoss")])
def test_the_curves_end_with_the_last_epoch(browser: Browser, served: Served, curve: str, recorded: str) -> None:
    found = TensorBoard(browser, served.address).last_point("loss", f"/{curve}")

    assert found.step == STEPS
    assert found.value == pytest.approx(served.last_epoch[recorded], abs=1e-4)


def test_readouts_and_weights_are_drawn_as_histograms(browser: Browser, served: Served) -> None:
    board = TensorBoard(browser, served.address)

    assert board.histogram("readouts/expectation") > 10
    assert board.histogram("weights/expectation/angles") > 10


def test_a_profile_has_an_overview_and_a_trace_of_each_worker(browser: Browser, served: Served) -> None:
    board = TensorBoard(browser, served.address)

    assert "Performance Summary" in board.overview()
    assert len(set(board.traced())) == 2


def test_options_are_shown(browser: Browser, served: Served) -> None:
    (row,) = TensorBoard(browser, served.address).options()

    assert float(row["batch_size"]) == 16
