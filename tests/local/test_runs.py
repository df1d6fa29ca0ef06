"""Runs that meet each other, or what others have done to their folders."""

import json
import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from qtj.files.documents import read_file
from qtj.local.folder import Folder, FolderError
from qtj.local.history import History
from qtj.runs.prepare import claim, plan_runs
from qtj.runs.prune import old_runs, remove_runs
from qtj.terminal.errors import InputError
from tests.local.laptop import QTJ, Laptop, toy_job
from tools.background import wait_until

ENDLESS = 100_000


@pytest.fixture
def here(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    """A laptop whose folder is that of the test too."""
    monkeypatch.chdir(laptop.folder)
    return laptop


def ran(laptop: Laptop, times: int = 1, **spec: Any) -> None:
    laptop.write(toy_job(epochs=1, **spec))
    for _ in range(times):
        assert laptop.qtj("run", "job.yaml").code == 0


def test_what_somebody_has_gone_on_with_since_is_not_removed(here: Laptop) -> None:
    ran(here, times=2)
    old = old_runs(None, keep=1)
    folder = Folder(here.artifacts(run=1))
    folder.take()  # as a qtj run that went on with it while its user was asked

    with pytest.raises(InputError, match="toy/1 stays: another qtj run uses"):
        remove_runs(old)

    assert (here.artifacts(run=1) / "job.json").is_file()


def test_a_run_that_never_began_counts_for_nothing(laptop: Laptop) -> None:
    ran(laptop)
    empty = laptop.artifacts(run=2)
    empty.mkdir()
    (empty / ".qtj-run").touch()

    status = laptop.qtj("status", "toy", "-o", "name")
    pruned = laptop.qtj("prune", "--yes")

    assert status.output == "toy/1\n"
    assert pruned.output.startswith("toy/2  without a record  ")
    assert laptop.qtj("list", "-o", "name").output == "toy/1\n"


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


def test_an_interrupted_run_does_not_go_on_in_another_bucket(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.start("run", "job.yaml")
    wait_until(laptop.trains)
    running.interrupt()
    running.end()

    fresh = laptop.qtj("run", "job.yaml", "--artifacts", "gs://bucket/new", "--dry-run")
    resumed = laptop.qtj("run", "job.yaml", "--artifacts", "gs://bucket/new", "--resume")

    assert "continues" not in fresh.output
    assert resumed.errors == "qtj: there is no run of toy in gs://bucket/new to continue: leave --resume out\n"


def test_a_run_that_another_command_has_completed_meanwhile_is_not_put_back(here: Laptop) -> None:
    here.write(toy_job(epochs=30))
    running = here.start("run", "job.yaml")
    wait_until(here.trains)
    running.interrupt()
    running.end()
    (plan,) = plan_runs(read_file(Path("job.yaml")).jobs, None, resume=False, fresh=False)
    assert here.qtj("run", "job.yaml").code == 0
    record = (here.artifacts() / "job.json").read_bytes()

    with ExitStack() as stack, pytest.raises(InputError, match="toy/1 was continued by another command"):
        claim(plan, stack)

    assert (here.artifacts() / "job.json").read_bytes() == record
    assert not Folder(here.artifacts()).is_active


def test_a_folder_inside_that_of_another_run_is_refused(laptop: Laptop) -> None:
    ran(laptop)

    ended = laptop.qtj("run", "job.yaml", "--fresh", "--artifacts", str(laptop.artifacts(run=1) / "mine"))

    assert ended.code == 2
    assert "is in the folder of another run" in ended.errors


@pytest.mark.parametrize("command", ["list", "prune", "status", "logs"])
@pytest.mark.parametrize("name", ["nosuch", "../toy", "/toy"])
def test_a_job_that_was_not_run_here_is_a_sentence(laptop: Laptop, command: str, name: str) -> None:
    ran(laptop) if command == "list" and name == "nosuch" else laptop.write(toy_job())

    ended = laptop.qtj(command, name)

    assert (ended.code, ended.errors.count("\n")) == (2, 1), ended.errors


def test_links_that_lead_nowhere_hide_no_other_run(laptop: Laptop) -> None:
    ran(laptop)
    runs = laptop.folder / "qtj-artifacts/toy"
    (runs / "2").symlink_to(runs / "2")
    (runs / "3").symlink_to("/" + "x" * 300)

    listed = laptop.qtj("list", "-o", "name")
    again = laptop.qtj("run", "job.yaml")

    assert listed.output == "toy/1\n"
    assert again.code == 0, again.errors
    assert (runs / "4/job.json").is_file()


def test_two_runs_elsewhere_at_once_are_both_listed(here: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()
    for number in range(5):
        (here.folder / f"data{number}").mkdir()
        (here.folder / f"data{number}/.qtj-run").touch()
        with monkeypatch.context() as patch:
            patch.setattr(Path, "iterdir", lambda _: iter(()))  # as two that look at the same moment
            history.link("toy", Folder(here.folder / f"data{number}"))

    assert [run.number for run in History().runs("toy")] == [1, 2, 3, 4, 5]


def test_a_copied_run_has_its_own_name(laptop: Laptop) -> None:
    ran(laptop)
    shutil.copytree(laptop.artifacts(run=1), laptop.artifacts(run=2))

    assert laptop.qtj("list", "-o", "name").output == "toy/1\ntoy/2\n"


def test_a_file_system_without_locks_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", none)

    with pytest.raises(FolderError, match=r"there are no locks in .* work on another disk"):
        Folder(tmp_path / "run").claim()


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


def test_status_waits_for_a_run_that_has_only_begun(here: Laptop) -> None:
    ran(here)
    record = (here.artifacts() / "job.json").read_text()
    (here.artifacts() / "job.json").unlink()
    folder = Folder(here.artifacts())
    folder.take()
    asked = here.start("status", "toy")
    time.sleep(0.5)

    (here.artifacts() / "job.json").write_text(record)

    assert asked.end().output.startswith("run         toy/1\n")


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


@pytest.mark.parametrize("artifacts", ["gs://", "gs:///x", "gs:/bucket/x", "s3://bucket", "x" * 300])
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


def test_a_record_that_cannot_be_read_is_listed_as_such(laptop: Laptop) -> None:
    ran(laptop)
    (laptop.artifacts() / "job.json").write_text("[]")

    assert "toy/1   unreadable   1 " in laptop.qtj("list").output
    assert json.loads(laptop.qtj("list", "-o", "json").output)["items"] == []
