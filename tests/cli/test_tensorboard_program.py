"""`qtj.tensorboard.server` with a stand-in; `tests/release/test_tensorboard_image.py` has the real one."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from wsgiref.util import setup_testing_defaults

import pytest

from qtj.tensorboard.server import guarded

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

MAIN = """
import threading, time

def read():
    {reads}

def run_main():
    thread = threading.Thread(target=read, name={name!r}, daemon=True)
    thread.start()
    thread.join()
    print("served", flush=True)
"""
COMPAT = """
class tf:
    class io:
        class gfile:
            @staticmethod
            def exists(path):
                {exists}
"""


def run(folder: Path, *, exists: str = "return True", reads: str = "pass", name: str = "Reloader") -> tuple[int, str]:
    """Runs the program; returns its exit code, and the last line that it wrote."""
    package = folder / "tensorboard"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "program.py").write_text("create_port_scanning_werkzeug_server = None")
    (package / "main.py").write_text(MAIN.format(reads=reads, name=name))
    (package / "compat.py").write_text(COMPAT.format(exists=exists))
    command = [sys.executable, "-m", "qtj.tensorboard.server", "--port=1", "--logdir=gs://bucket/logs"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    ended = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return ended.returncode, ended.stdout.splitlines()[-1]


def test_it_serves_what_can_be_read(tmp_path: Path) -> None:
    assert run(tmp_path) == (0, "served")


def test_it_does_not_start_where_the_folder_cannot_be_read(tmp_path: Path) -> None:
    ended = run(tmp_path, exists="raise OSError('Forbidden: bucket\\nno access')")

    assert ended == (1, "gs://bucket/logs cannot be read: Forbidden: bucket no access")


@pytest.mark.parametrize(("error", "why"), [("OSError('503: busy')", "503: busy"), ("TimeoutError()", "TimeoutError")])
def test_it_ends_with_the_thread_that_reads(tmp_path: Path, error: str, why: str) -> None:
    assert run(tmp_path, reads=f"raise {error}") == (1, f"gs://bucket/logs cannot be read: {why}")


def test_another_thread_may_fail(tmp_path: Path) -> None:
    assert run(tmp_path, reads="raise OSError('busy')", name="Thread-1") == (0, "served")


CAPTURE = "/data/plugin/profile/capture_profile"


def answered(path: str, **headers: str) -> str:
    """The status of an answer to a request with these headers."""
    said: list[str] = []

    def serves(_request: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        start("200 OK", [])
        return []

    request: WSGIEnvironment = {"PATH_INFO": path, **{f"HTTP_{name.upper()}": value for name, value in headers.items()}}
    setup_testing_defaults(request)
    guarded(serves)(request, lambda status, _headers, _error=None: said.append(status))  # type: ignore[arg-type]
    return said[0]


@pytest.mark.parametrize("path", ["/", "/data/runs", CAPTURE])
@pytest.mark.parametrize("mode", ["no-cors", "cors"])
def test_a_page_of_another_site_is_not_answered(path: str, mode: str) -> None:
    assert answered(path, sec_fetch_site="cross-site", sec_fetch_mode=mode) == "403 Forbidden"


def test_a_link_of_another_site_to_a_profile_is_not_followed() -> None:
    assert answered(CAPTURE, sec_fetch_site="cross-site", sec_fetch_mode="navigate") == "403 Forbidden"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (CAPTURE, {"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}),
        ("/", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}),
        ("/", {"sec_fetch_site": "same-site", "sec_fetch_mode": "navigate"}),
        ("/data/runs", {}),
    ],
    ids=["its own page", "a link to it", "a notebook", "a program"],
)
def test_everybody_else_is(path: str, headers: Mapping[str, str]) -> None:
    assert answered(path, **headers) == "200 OK"
