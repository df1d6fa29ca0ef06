"""TensorBoard with the packages of its image: what it does without, it does not need."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.controller.apiserver import free_port
from tests.release.version import ROOT
from tests.tensorboard import write_curve

pytestmark = pytest.mark.slow

UV = Path(sys.executable).with_name("uv")
STARTS_WITHIN = 120.0


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The virtual environment that Dockerfile.tensorboard makes."""
    venv = tmp_path_factory.mktemp("image") / "venv"
    pinned = ("--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "tensorboard.txt")
    python = venv / "bin" / "python"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, venv], check=True)
    subprocess.run([UV, "pip", "install", "-q", "--link-mode=copy", "--python", python, *pinned], check=True)
    subprocess.run([python, ROOT / "image" / "slim.py", "tensorboard"], check=True)
    return venv


@pytest.fixture
def address(environment: Path, tmp_path: Path) -> Iterator[str]:
    """Where it serves a curve, with the arguments of a pod."""
    write_curve(tmp_path / "logs" / "uid" / "train", "loss", [0.8, 0.4])
    port = free_port()
    command = [str(environment / "bin" / "tensorboard"), f"--logdir={tmp_path}/logs", f"--port={port}", "--bind_all"]
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen(
            [*command, "--load_fast=false", "--reload_interval=1"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            stdout=output,
            stderr=output,
        )
    yield f"http://127.0.0.1:{port}/data"
    process.kill()
    process.wait()


def get(url: str) -> Any:
    """Waits for an answer that is not empty."""
    last = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < last:
        with suppress(OSError), urlopen(url, timeout=30) as answer:
            if found := json.load(answer):
                return found
        time.sleep(0.5)
    raise AssertionError(f"{url} has nothing to show")


def test_it_shows_a_curve(address: str) -> None:
    points = get(f"{address}/plugin/scalars/scalars?run=uid/train&tag=loss")

    assert [(step, round(value, 3)) for _, step, value in points] == [(0, 0.8), (1, 0.4)]


def test_it_has_the_page_of_profiles(address: str) -> None:
    assert "profile" in get(f"{address}/plugins_listing")


def test_it_is_small(environment: Path) -> None:
    size = sum(path.lstat().st_size for path in environment.rglob("*") if not path.is_dir())

    assert size < 300 * 2**20
    assert not list(environment.glob("lib/*/site-packages/tensorflow*"))
