"""The end of a failed job's log: whose it is, what was raised, and where the rest is."""

from pathlib import Path
from typing import Any

import pytest

from qtj.runs.failed_log import log_tail

RAISED = """\
reading
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    fit()
ValueError: the labels
  are of two
kinds
"""

BEGUN = """\
Traceback (most recent call last):
  File "train.py", line 3, in <module>
"""


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    return [log(tmp_path, f"toy-worker-{index}.1.log", f"this is worker {index}\n") for index in (0, 1)]


def log(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def failed(*pods: str, sentence: str = "a replica failed", **status: Any) -> dict[str, Any]:
    failures = [{"pod": pod, "attempt": 1} for pod in pods]
    conditions = [{"type": "Failed", "status": "True", "message": sentence}]
    said = {"phase": "Failed", "attempt": 1, "failures": failures, "conditions": conditions, **status}
    return {"metadata": {"name": "toy"}, "status": said}


def test_the_log_is_that_of_the_replica_the_sentence_names(logs: list[Path]) -> None:
    job = failed("toy-worker-0", "toy-worker-1", sentence="toy-worker-1 ended (exit code 3)")

    assert list(log_tail(job, logs)) == [
        f"toy-worker-1 failed; the end of its log, {logs[1]}",
        "  | this is worker 1",
    ]


def test_without_a_name_it_is_the_one_that_failed_first(logs: list[Path]) -> None:
    assert list(log_tail(failed("toy-worker-0", "toy-worker-1"), logs))[1:] == ["  | this is worker 0"]


def test_a_failure_of_an_earlier_attempt_is_not_this_one(logs: list[Path]) -> None:
    assert list(log_tail(failed("toy-worker-0", attempt=2, reason="DeadlineExceeded"), logs)) == []


def test_a_failed_inference_has_the_newest_log(logs: list[Path], tmp_path: Path) -> None:
    newest = log(tmp_path, "toy-inference-ab12.log", "no weights\n")

    lines = list(log_tail(failed(reason="InferenceFailed"), [*logs, newest]))

    assert lines[1:] == ["  | no weights"]


def test_a_failed_inference_that_wrote_nothing_is_not_blamed_on_a_worker(logs: list[Path]) -> None:
    assert list(log_tail(failed(reason="InferenceFailed"), logs)) == ["toy-inference wrote no log"]


@pytest.mark.parametrize("phase", ["Complete", "Suspended", None])
def test_a_job_that_has_not_failed_has_nothing_to_show(phase: str | None, logs: list[Path]) -> None:
    assert list(log_tail(failed("toy-worker-0", phase=phase), logs)) == []


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        (RAISED, "ValueError"),
        (RAISED.replace("ValueError: the", "tensorflow.errors_impl.InvalidArgumentError: the"), "InvalidArgumentError"),
        (RAISED.replace("ValueError: the labels", "KeyboardInterrupt"), "KeyboardInterrupt"),
        (
            f"{RAISED}\nDuring handling of the above exception, another exception occurred:\n\n{BEGUN}KeyError: 1",
            "KeyError",
        ),
    ],
)
def test_the_exception_is_named_even_when_its_message_has_several_lines(text: str, raised: str, tmp_path: Path) -> None:
    path = log(tmp_path, "toy-worker-0.1.log", text)

    first = next(log_tail(failed("toy-worker-0"), [path]))

    assert first.startswith(f"toy-worker-0 raised {raised}; the end of its log")


@pytest.mark.parametrize("text", [BEGUN, "Traceback (most recent call last):\n", "x"])
def test_a_traceback_without_an_end_names_nothing(text: str, tmp_path: Path) -> None:
    path = log(tmp_path, "toy-worker-0.1.log", text)

    assert next(log_tail(failed("toy-worker-0"), [path])).startswith("toy-worker-0 failed; ")


def test_ten_lines_are_shown_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    text = (
        "".join(f"line {number}\n\n" for number in range(100_000))
        + "1/9\r9/9\r\n\x1b[31mred\x1b[0m \x1b]0;owned\x07\n"
        + "x" * 999
    )
    path = log(tmp_path, "toy-worker-0.1.log", text)

    lines = list(log_tail(failed("toy-worker-0"), [path]))[1:]

    assert lines[:7] == [f"  | line {number}" for number in range(99_993, 100_000)]
    assert lines[7:9] == ["  | 9/9", "  | red "]
    assert lines[9] == "  | " + "x" * 299 + "…"


def test_an_empty_log_and_one_that_is_gone_show_nothing(tmp_path: Path) -> None:
    empty = log(tmp_path, "toy-worker-0.1.log", "\n")
    gone = tmp_path / "toy-worker-1.1.log"

    assert list(log_tail(failed("toy-worker-0"), [empty])) == []
    assert list(log_tail(failed("toy-worker-1"), [gone])) == []
