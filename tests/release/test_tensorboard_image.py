"""TensorBoard with the packages of its image: what it does without, it does not need."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.release.environments import made
from tests.tensorboard import write_curve
from tools.background import free_port
from tools.release.version import ROOT

pytestmark = pytest.mark.slow

STARTS_WITHIN = 120.0


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The virtual environment that Dockerfile.tensorboard makes."""
    venv = tmp_path_factory.mktemp("image") / "venv"
    pinned = ("--no-deps", "--require-hashes", "-r", ROOT / "requirements" / "tensorboard.txt")
    python = made(venv, "--link-mode=copy", *pinned)
    subprocess.run([python, ROOT / "image" / "slim.py", "tensorboard"], check=True)
    program = (ROOT / "operator" / "qtj" / "tensorboard" / "server.py").read_text()
    (venv / "bin" / "tensorboard").write_text(f"#!{python}\n{program}")
    return venv


@pytest.fixture
def address(environment: Path, tmp_path: Path) -> Iterator[str]:
    """Where it serves a curve, with the arguments of a pod."""
    write_curve(tmp_path / "logs" / "uid" / "train", "loss", [0.8, 0.4])
    port = free_port()
    process = started(environment, tmp_path, f"{tmp_path}/logs", port)
    yield f"http://127.0.0.1:{port}/data"
    process.kill()
    process.wait()


def started(environment: Path, home: Path, folder: str, port: int, **variables: str) -> "subprocess.Popen[bytes]":
    """Starts TensorBoard with the arguments of a pod; what it writes is in the file `output` of its home."""
    command = [str(environment / "bin" / "tensorboard"), f"--logdir={folder}", f"--port={port}", "--bind_all"]
    with (home / "output").open("w") as output:
        return subprocess.Popen(
            [*command, "--load_fast=false", "--reload_interval=1"],
            env={"PATH": os.environ["PATH"], "HOME": str(home), **variables},
            stdout=output,
            stderr=output,
        )


class Bucket(BaseHTTPRequestHandler):
    """An empty bucket, until it forbids to list it."""

    forbids = False

    def do_GET(self) -> None:
        is_list = "?" in self.path
        code = 404 if not is_list else 403 if self.forbids else 200
        body = json.dumps({"error": {"message": "no access"}} if code != 200 else {"items": []}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def bucket() -> Iterator[str]:
    """The address of a storage."""
    Bucket.forbids = False
    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


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


def last_line(home: Path) -> str:
    return (home / "output").read_text().splitlines()[-1]


def test_a_bucket_that_cannot_be_read_ends_it_with_a_sentence(environment: Path, tmp_path: Path, bucket: str) -> None:
    Bucket.forbids = True

    process = started(environment, tmp_path, "gs://b/logs", free_port(), STORAGE_EMULATOR_HOST=bucket)

    assert process.wait(STARTS_WITHIN) == 1
    assert last_line(tmp_path) == "gs://b/logs cannot be read: Forbidden: b/b/o no access"


def test_a_bucket_that_cannot_be_read_any_more_ends_it_too(environment: Path, tmp_path: Path, bucket: str) -> None:
    port = free_port()
    process = started(environment, tmp_path, "gs://b/logs", port, STORAGE_EMULATOR_HOST=bucket)
    get(f"http://127.0.0.1:{port}/data/environment")

    Bucket.forbids = True

    assert process.wait(STARTS_WITHIN) == 1
    assert last_line(tmp_path) == "gs://b/logs cannot be read: Forbidden: b/b/o no access"


def test_damaged_files_among_the_curves_do_no_harm(environment: Path, tmp_path: Path) -> None:
    whole = tmp_path / "logs" / "whole" / "train"
    write_curve(whole, "loss", [0.8, 0.4])
    (events,) = whole.iterdir()
    stored = events.read_bytes()
    for name, damaged in {"cut": stored[:-7], "none": b"no event file" * 100, "long": b"\xff" * 7 + b"\x7f"}.items():
        file = tmp_path / "logs" / name / "train" / events.name
        file.parent.mkdir(parents=True)
        file.write_bytes(damaged)
    port = free_port()
    process = started(environment, tmp_path, f"{tmp_path}/logs", port)

    curves = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?tag=loss&run="
    shown = get(f"{curves}whole/train")
    write_curve(tmp_path / "logs" / "later" / "train", "loss", [0.2])
    later = get(f"{curves}later/train")

    assert (len(shown), len(later)) == (2, 1)
    process.kill()
    process.wait()


def test_it_is_small(environment: Path) -> None:
    size = sum(path.lstat().st_size for path in environment.rglob("*") if not path.is_dir())

    assert size < 300 * 2**20
    assert not list(environment.glob("lib/*/site-packages/tensorflow*"))
