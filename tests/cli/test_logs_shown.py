"""`qtj logs`: which logs are shown, and how; and the end of a failed job's log."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from qtj.monitor.cluster_logs import copy_cluster_logs
from qtj.runs.failed_log import log_tail
from qtj.terminal.errors import InputError
from tests.cli.left import Left
from tests.cli.qtj import qtj
from tests.cli.recorded import make_run
from tests.cli.test_readers_gone import SOURCES
from tests.controller.lab import KEY, Lab, running
from tests.local.laptop import QTJ

pytestmark = pytest.mark.usefixtures("folder")
LOGS, DESCRIPTORS = 150, 100
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
def logs(folder: Path) -> Path:
    """The logs of a run of two attempts and an inference."""
    place = folder / make_run(phase="Complete").path / "logs"
    for name in ("worker-0.1", "worker-1.1", "worker-10.1", "worker-0.2", "inference-x7k2p"):
        (place / f"toy-{name}.log").write_text(f"I am {name}\n")
    return place


def shown(*arguments: str) -> list[str]:
    answer = qtj("logs", *arguments)
    assert answer.code == 0, answer.errors
    return answer.output.splitlines()


def test_all_logs_are_shown_by_attempt_with_their_names(logs: Path) -> None:
    assert shown("toy") == [
        f"toy-{name}  I am {name}"
        for name in ("worker-0.1", "worker-1.1", "worker-10.1", "worker-0.2", "inference-x7k2p")
    ], logs


@pytest.mark.parametrize(
    ("replica", "names"),
    [
        ("worker-0", ["worker-0.1", "worker-0.2"]),
        ("toy-worker-0", ["worker-0.1", "worker-0.2"]),
        ("inference", ["inference-x7k2p"]),
        ("worker", ["worker-0.1", "worker-1.1", "worker-10.1", "worker-0.2"]),
    ],
)
@pytest.mark.usefixtures("logs")
def test_a_replica_is_named_with_or_without_its_job(replica: str, names: list[str]) -> None:
    lines = [line.partition("I am ")[2] for line in shown("toy", replica)]

    assert lines == names


@pytest.mark.parametrize("replica", ["worker-1", "worker-1.1", "worker-0.2"])
@pytest.mark.usefixtures("logs")
def test_a_single_log_is_shown_as_it_is(replica: str) -> None:
    [line] = shown("toy", replica)

    assert line.startswith("I am worker-")


def test_a_replica_without_a_log_is_answered_with_those_there_are(logs: Path) -> None:
    answer = qtj("logs", "toy", "worker-7")

    assert answer.code == 2
    assert answer.sentences[0].startswith(f"{logs.parent} has no log of worker-7: there are toy-worker-0.1, toy-worke")


def test_a_run_without_a_log_is_a_sentence() -> None:
    run = make_run(phase="Failed")

    assert qtj("logs").sentences == [f"{run.path} has no log of any replica: there are none"]


def test_half_a_line_at_the_end_is_shown_as_one() -> None:
    run = make_run(phase="Failed")
    (run.path / "logs/toy-worker-0.1.log").write_bytes(b"whole\nhalf")

    assert qtj("logs").output == "whole\nhalf\n"


def test_white_space_and_empty_lines_are_shown_as_they_were_written() -> None:
    run = make_run(phase="Failed")
    (run.path / "logs/toy-worker-0.1.log").write_text("Ä\n\n  indented \n")

    assert qtj("logs").output == "Ä\n\n  indented \n"


def test_following_a_run_that_is_over_shows_all_of_it_and_ends() -> None:
    run = make_run(phase="Complete")
    (run.path / "logs/toy-worker-0.1.log").write_text("one\ntwo")

    assert shown("toy", "-f") == ["toy-worker-0.1  one", "toy-worker-0.1  two"]


async def test_more_logs_than_can_be_followed_at_once_are_refused_with_a_way_out() -> None:
    lab = Lab()
    await running(lab, replicaSpecs={"Worker": {"replicas": 91}})
    client: Any = lab.cluster

    sentence = "qcnn has 91 logs, and 90 can be followed at once: name a replica, such as qcnn-worker-0.1"
    with pytest.raises(InputError, match=sentence):
        await copy_cluster_logs(client, KEY, None, follow=True, form=None)


@pytest.mark.parametrize("flags", [(), ("-f",)], ids=["at once", "followed"])
def test_more_logs_than_descriptors_are_all_shown(folder: Path, flags: tuple[str, ...]) -> None:
    left = Left(folder)
    left.record(left.status)
    (left.place / "logs").mkdir()
    for number in range(LOGS):
        (left.place / f"logs/own-worker-{number}.1.log").write_text(f"I am {number}\nhalf")

    ended = subprocess.run(
        ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *QTJ, "logs", "own", *flags],
        env={**os.environ, "PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.stderr == ""
    assert {f"own-worker-{number}.1  I am {number}" for number in range(LOGS)} <= set(ended.stdout.splitlines())
    assert ended.stdout.count("  half\n") == LOGS


@pytest.fixture
def two_logs(tmp_path: Path) -> list[Path]:
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


def test_the_log_is_that_of_the_replica_the_sentence_names(two_logs: list[Path]) -> None:
    job = failed("toy-worker-0", "toy-worker-1", sentence="toy-worker-1 ended (exit code 3)")

    assert list(log_tail(job, two_logs)) == [
        f"toy-worker-1 failed; the end of its log, {two_logs[1]}",
        "  | this is worker 1",
    ]


def test_without_a_name_it_is_the_one_that_failed_first(two_logs: list[Path]) -> None:
    assert list(log_tail(failed("toy-worker-0", "toy-worker-1"), two_logs))[1:] == ["  | this is worker 0"]


def test_a_failure_of_an_earlier_attempt_is_not_this_one(two_logs: list[Path]) -> None:
    assert list(log_tail(failed("toy-worker-0", attempt=2, reason="DeadlineExceeded"), two_logs)) == []


def test_a_failed_inference_has_the_newest_log(two_logs: list[Path], tmp_path: Path) -> None:
    newest = log(tmp_path, "toy-inference-ab12.log", "no weights\n")

    lines = list(log_tail(failed(reason="InferenceFailed"), [*two_logs, newest]))

    assert lines[1:] == ["  | no weights"]


def test_a_failed_inference_that_wrote_nothing_is_not_blamed_on_a_worker(two_logs: list[Path]) -> None:
    assert list(log_tail(failed(reason="InferenceFailed"), two_logs)) == ["toy-inference wrote no log"]


@pytest.mark.parametrize("phase", ["Complete", "Suspended", None])
def test_a_job_that_has_not_failed_has_nothing_to_show(phase: str | None, two_logs: list[Path]) -> None:
    assert list(log_tail(failed("toy-worker-0", phase=phase), two_logs)) == []


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
