"""`qtj logs`: which logs are shown, and how."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from qtj.monitor.cluster_logs import copy_cluster_logs
from qtj.terminal.errors import InputError
from tests.cli.left import Left
from tests.cli.qtj import qtj
from tests.cli.recorded import make_run
from tests.cli.test_readers_gone import SOURCES
from tests.controller.lab import KEY, Lab, running
from tests.local.laptop import QTJ

pytestmark = pytest.mark.usefixtures("folder")
LOGS, DESCRIPTORS = 150, 100


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
