"""Runs that meet each other, or what others have done to their folders."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.local.laptop import ENDLESS, QTJ, Laptop, toy_job
from tools.background import wait_until


def ran(laptop: Laptop, times: int = 1, **spec: Any) -> None:
    laptop.write(toy_job(epochs=1, **spec))
    for _ in range(times):
        assert laptop.qtj("run", "job.yaml").code == 0


def test_a_run_that_cannot_begin_leaves_no_folder(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1), toy_job(epochs=1, name="second"))
    (laptop.folder / "qtj-artifacts").mkdir()
    (laptop.folder / "qtj-artifacts/second").symlink_to("nowhere/at/all")

    ended = laptop.qtj("run", "job.yaml")
    detached = laptop.qtj("run", "-d", "job.yaml")

    assert (ended.code, detached.code) == (2, 2)
    assert detached.errors == ended.errors
    assert not list((laptop.folder / "qtj-artifacts/toy").iterdir())


def test_more_epochs_continue_a_finished_training(laptop: Laptop) -> None:
    job = toy_job()
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "--epochs=2"]
    laptop.write(job)
    assert laptop.qtj("run", "job.yaml").code == 0

    ended = laptop.qtj("run", "job.yaml", "--resume", "--epochs", "4", "-o", "json")

    assert ended.code == 0, ended.errors
    assert "toy  continues the finished training of toy/1" in ended.errors
    assert (ended.status["phase"], ended.status["attempt"], ended.status["progress"]["epoch"]) == ("Complete", 2, 4)
    assert ended.status["inference"]["metrics"] == {"mse": 0.5}
    second = (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text()
    assert second.startswith("begins after epoch 2")


def test_a_job_whose_time_to_live_is_over_does_not_hang(laptop: Laptop) -> None:
    ran(laptop, runPolicy={"ttlSecondsAfterFinished": 0})
    laptop.write(toy_job(epochs=1, runPolicy={"ttlSecondsAfterFinished": 0, "backoffLimit": 5}))

    assert laptop.start("run", "job.yaml", "--resume").end(seconds=30).code == 0


@pytest.mark.parametrize("command", ["list", "prune", "status", "logs"])
def test_a_job_that_was_not_run_here_is_a_sentence(laptop: Laptop, command: str) -> None:
    ended = laptop.qtj(command, "../toy")

    assert (ended.code, ended.errors.count("\n")) == (2, 1), ended.errors


def test_a_detached_run_keeps_no_lock_of_the_shell_that_began_it(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    lock = os.open(laptop.folder / "lock", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(lock, True)
    command, environment = [*QTJ, "run", "-d", "job.yaml"], laptop.environment()
    subprocess.run(command, cwd=laptop.folder, env=environment, pass_fds=[lock], check=True)
    (runner,) = (pid for pid, line in laptop.processes().items() if "run -d" in line)

    held = [str(path.readlink()) for path in Path(f"/proc/{runner}/fd").iterdir()]
    os.close(lock)

    assert str(laptop.folder / "lock") not in held
    assert laptop.qtj("stop", "--now").code == 0


def test_a_failed_job_that_is_stopped_is_told_how_it_goes_on(laptop: Laptop) -> None:
    laptop.write(toy_job(3, "--exit", "1", name="bad"), toy_job(ENDLESS, name="good"))
    laptop.qtj("run", "-d", "job.yaml")
    wait_until(lambda: (laptop.record("bad").get("status") or {}).get("phase") == "Failed")

    stopped = laptop.qtj("stop", "bad")
    attached = laptop.start("attach", "bad").end(seconds=20)

    assert stopped.output == "bad/1 is Failed: `qtj run` of its file with --resume continues it\n"
    assert attached.code == 1
    other = laptop.qtj("status", "good", "-o", "json")
    assert other.code == 0, other.errors
    assert json.loads(other.output)["status"]["phase"] == "Running"
    assert laptop.qtj("stop", "good").code == 0


@pytest.mark.parametrize("what", ["file", "dangling link"])
def test_something_else_in_the_place_of_the_runs_is_a_sentence(laptop: Laptop, what: str) -> None:
    laptop.write(toy_job(epochs=1))
    if what == "file":
        (laptop.folder / "qtj-artifacts").mkdir()
        (laptop.folder / "qtj-artifacts/toy").write_text("mine")
    else:
        (laptop.folder / "qtj-artifacts").symlink_to("nowhere")

    ended = laptop.start("run", "job.yaml").end(seconds=20)

    assert ended.code == 2
    assert "go to a folder that can be written to, or name one with --artifacts" in ended.errors


@pytest.mark.parametrize("artifacts", ["gs://", "x" * 300])
def test_an_address_that_is_none_is_a_sentence(laptop: Laptop, artifacts: str) -> None:
    laptop.write(toy_job(epochs=1))

    ended = laptop.qtj("run", "job.yaml", "--artifacts", artifacts)

    assert (ended.code, ended.errors.count("\n")) == (2, 1), ended.errors
    assert {path.name for path in laptop.folder.iterdir()} <= {"job.yaml", "qtj-artifacts"}


def test_a_run_that_was_killed_is_told_as_interrupted_everywhere(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.start("run", "job.yaml")
    wait_until(lambda: laptop.trains() and laptop.record()["status"].get("progress"))
    running.kill()
    running.end()

    status, report = laptop.qtj("status").output, laptop.qtj("report").output

    assert "phase       Interrupted\nwhy         qtj run ended before the job did\n" in status
    assert report.startswith("toy was interrupted\n")
