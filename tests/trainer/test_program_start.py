"""What a user's program checks before it trains, and how it waits for the other replicas."""

import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

import qtj_contract as contract
from tests.trainer.loops import Folder
from tests.trainer.processes import REPOSITORY, Trainer
from tools.background import free_ports, tf_configs, wait_until

KERAS = REPOSITORY / "examples" / "own_program.py"
AT_ONCE = 4
"""Seconds of processor time within which a mistake is reported; importing TensorFlow alone takes longer."""


def activity_at(port: int) -> str:
    with (
        suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}{contract.PROGRESS_PATH}", timeout=5) as answer,
    ):
        return contract.activity_in(answer.read().decode()) or ""
    return ""


def test_artifacts_that_cannot_be_written_end_a_program_before_it_trains(job: Folder) -> None:
    job.path.mkdir()
    (job.path / "file").touch()

    ended = job.run("print(step)", QTJ_ARTIFACTS_URI=f"{job.path}/file/below")

    assert (ended.code, ended.output) == (1, ""), ended.errors
    assert ended.sentences == [f"error: {ended.error}"]
    assert ended.error.startswith("cannot write artifacts to")
    assert ended.cpu_seconds < AT_ONCE


@pytest.mark.parametrize("index", [0, 1], ids=["leader", "follower"])
def test_a_keras_program_that_waits_for_a_peer_answers_and_can_be_told_to_end(
    trainer: Trainer, tmp_path: Path, index: int
) -> None:
    [port] = free_ports(1)
    environment = {"QTJ_ARTIFACTS_URI": str(tmp_path), "QTJ_METRICS_PORT": str(port)}
    waiting = trainer.start_program(KERAS, TF_CONFIG=tf_configs(worker=2)["worker", index], **environment)
    wait_until(lambda: activity_at(port) == "connecting", 60)

    waiting.popen.terminate()

    assert waiting.end(60).code == 143


def test_a_loop_waits_for_all_workers_and_logs_which_are_missing(job: Folder) -> None:
    leader, follower = tf_configs(worker=2).values()
    early = job.start(TF_CONFIG=leader)
    wait_until(lambda: "waiting for worker 1" in early.errors(), 60)
    late = job.start(TF_CONFIG=follower)

    ended = [early.end(), late.end()]

    assert [each.code for each in ended] == [0, 0], ended[0].errors + ended[1].errors
    assert ended[0].output == ended[1].output == "".join(f"Epoch {each}\n" for each in range(1, 7))
