"""`qtj profile` of a run on this machine."""

import json
import os
import signal

import pytest

from qtj.local.folder import Folder
from qtj_simulator.fused.build import compiler
from tests.local.laptop import Laptop, toy_job
from tests.local.records import record
from tests.local.test_trainer_here import example
from tools.background import wait_until


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_all_workers_of_a_training_are_profiled_at_the_same_steps(laptop: Laptop) -> None:
    from tests.trainer.test_captures import steps_of

    laptop.write(example("--epochs=100000", workers=2, inference=False))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: running.process.poll() is not None or laptop.trains("qcnn", epoch=2), seconds=500)

    taken = laptop.qtj("profile", "qcnn", "--steps", "3", "-o", "json")
    by_file = laptop.qtj("profile", "job.yaml", "--duration", "100ms")
    stopped = laptop.qtj("stop", "qcnn")
    running.end(seconds=500)

    assert (taken.code, by_file.code, stopped.code) == (0, 0, 0), taken.errors + by_file.errors + stopped.errors
    profile = json.loads(taken.output)
    folder = laptop.artifacts("qcnn") / profile["path"]
    first, second = (steps_of(folder / f"worker-{index}.xplane.pb") for index in range(2))
    assert first == second
    assert len(first) == 3
    assert profile == {"name": profile["name"], "state": "Stored", "path": profile["path"]}
    profiles = laptop.record("qcnn")["status"]["profiles"]
    assert [each["state"] for each in profiles] == ["Stored", "Stored"]
    assert profiles[0] == profile
    assert "qtj tensorboard qcnn" in by_file.output
    assert f"the profile is in {laptop.artifacts('qcnn')}/logs/" in by_file.output


def test_a_program_that_takes_no_profiles_is_named_and_continues(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=100_000))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: laptop.trains(epoch=2))

    ended = laptop.qtj("profile", "toy")
    epoch = laptop.epoch()
    wait_until(lambda: laptop.epoch() > epoch)
    laptop.qtj("stop", "toy")
    running.end()

    assert (ended.code, ended.output) == (2, "")
    (sentence,) = ended.errors.splitlines()
    assert sentence.startswith("qtj: the program of toy/1 takes no profiles on request: it needs qtj_trainer of this")


def test_a_run_that_has_ended_is_one_sentence(laptop: Laptop) -> None:
    folder = Folder(laptop.folder / "qtj-artifacts" / "toy" / "1")
    folder.claim()
    folder.save(record(phase="Complete"))
    folder.release()

    ended = laptop.qtj("profile", "toy")

    assert (ended.code, ended.output) == (2, "")
    assert ended.errors == "qtj: toy/1 is not active, and only a job that trains can be profiled: see `qtj list`\n"


def test_a_job_that_was_not_run_here_is_one_sentence(laptop: Laptop) -> None:
    ended = laptop.qtj("profile", "toy")

    assert (ended.code, ended.output) == (2, "")
    (sentence,) = ended.errors.splitlines()
    assert sentence.startswith("qtj: the job toy was not run in this folder: ")
    assert sentence.endswith("--cluster shows a job of your cluster")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--duration", "soon"], "--duration soon is not a time: write for example 2s or 500ms"),
        (["--duration", "0s"], "--duration 0s: a profile takes from 1ms to 60s"),
        (["--duration", "2m"], "--duration 2m: a profile takes from 1ms to 60s"),
        (["--duration", "2s", "--steps", "3"], "--duration and --steps are both given: leave one of them out"),
    ],
)
def test_a_length_that_no_profile_has_is_refused(laptop: Laptop, options: list[str], sentence: str) -> None:
    ended = laptop.qtj("profile", "toy", *options)

    assert (ended.code, ended.output, ended.errors) == (2, "", f"qtj: {sentence}\n")


def test_steps_are_a_whole_number_within_limits(laptop: Laptop) -> None:
    for steps in ("0", "1001"):
        ended = laptop.qtj("profile", "toy", "--steps", steps)

        assert ended.code == 2
        assert len(ended.errors.splitlines()) == 1, ended.errors


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_a_worker_that_is_killed_while_it_is_profiled_ends_the_profile_and_not_the_job(laptop: Laptop) -> None:
    laptop.write(example("--epochs=100000", workers=2, inference=False))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: running.process.poll() is not None or laptop.trains("qcnn", epoch=2), seconds=500)

    taking = laptop.start("profile", "qcnn", "--duration", "60s")
    wait_until(lambda: taking.process.poll() is not None or laptop.record("qcnn")["status"].get("profiles"))
    os.kill(laptop.worker(1), signal.SIGKILL)
    ended = taking.end(seconds=500)
    wait_until(lambda: laptop.record("qcnn")["status"]["profiles"][0]["state"] == "Failed", seconds=500)
    status = laptop.record("qcnn")["status"]
    laptop.qtj("stop", "qcnn")
    running.end(seconds=500)

    assert ended.code == 1, ended.errors
    why = "the attempt ended before the profile was stored"
    assert ended.errors == f"qtj: qcnn/1: the profile {status['profiles'][0]['name']} failed: {why}\n"
    assert status["profiles"][0]["error"] == why
    assert (status["attempt"], status["phase"]) == (2, "Running")
