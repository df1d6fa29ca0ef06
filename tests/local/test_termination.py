"""The termination message of a process: what a kubelet would have taken up."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

import pytest

from qtj.local.podstatus import termination_message

FALLBACK: dict[str, Any] = {"terminationMessagePolicy": "FallbackToLogsOnError"}


def message(file: Path, code: int = 1, tail: str = "the log", unhealthy: str | None = None, **container: Any) -> str:
    pod = {"spec": {"containers": [{"name": "trainer", **container}]}}
    return termination_message(pod, code, file, tail, unhealthy)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "termination-log"


def test_what_the_program_left_is_its_message(file: Path) -> None:
    file.write_text("out of cheese")

    assert message(file) == message(file, code=0) == message(file, **FALLBACK) == "out of cheese"


def test_without_a_message_there_is_none(file: Path) -> None:
    assert message(file) == message(file, code=0, **FALLBACK) == ""


def test_the_end_of_the_log_is_the_message_of_a_failure_that_asks_for_it(file: Path) -> None:
    assert message(file, tail="x" * 3000 + "y" * 2048, **FALLBACK) == "y" * 2048


def test_an_empty_message_is_none(file: Path) -> None:
    file.touch()

    assert message(file, **FALLBACK) == "the log"


def test_a_message_is_cut_where_a_kubelet_cuts_it(file: Path) -> None:
    file.write_text("x" * 5000)

    assert message(file) == "x" * 4096


def test_bytes_that_are_no_text_are_replaced(file: Path) -> None:
    file.write_bytes(b"caf\xe9")

    assert message(file) == "caf\N{REPLACEMENT CHARACTER}"


def bind_socket(path: Path) -> None:
    with socket(AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        Path.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path),
        bind_socket,
    ],
)
def test_what_is_no_file_is_no_message_and_is_not_waited_for(
    file: Path, make: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)  # a path of a socket is short
    make(Path(file.name))

    assert message(file, **FALLBACK) == "the log"


def test_a_probe_that_ended_the_program_is_named_beside_what_it_left(file: Path) -> None:
    file.write_text('{"progress": {"epoch": 3}, "error": "was told to end"}')

    said = json.loads(message(file, code=143, unhealthy="its liveness probe failed"))

    assert said == {"progress": {"epoch": 3}, "error": "its liveness probe failed"}


def test_a_probe_that_ended_the_program_is_named_where_it_left_no_message(file: Path) -> None:
    file.write_text("no JSON")

    assert json.loads(message(file, code=137, unhealthy="it hung")) == {"error": "it hung"}


def test_a_program_that_succeeded_in_spite_of_its_probe_is_believed(file: Path) -> None:
    file.write_text('{"metrics": {"mse": 0.5}}')

    assert message(file, code=0, unhealthy="it hung") == '{"metrics": {"mse": 0.5}}'
