"""The runs of a job: each has a folder of its own, and nothing in it is lost to a later one."""

import json
import shlex
from pathlib import Path

import pytest

from tests.local.laptop import ENDLESS, Laptop, Running, toy_job
from tools.background import wait_until


def interrupted(laptop: Laptop, *arguments: str) -> Running:
    """A run that was stopped after an epoch."""
    running = laptop.training(*arguments)
    running.interrupt()
    assert running.end().code == 130
    return running


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("named", ["mine", "uri"])
def test_a_folder_with_files_of_somebody_else_is_refused_and_stays_as_it_is(laptop: Laptop, named: str) -> None:
    mine = laptop.folder / "mine"
    (mine / "logs").mkdir(parents=True)
    (mine / "logs/experiment.log").write_text("three weeks of work")
    (mine / "job.json").write_text("{}")
    before = files_of(mine)
    laptop.write(toy_job(epochs=1))

    ended = laptop.qtj("run", "job.yaml", "--artifacts", mine.as_uri() if named == "uri" else "mine")

    assert ended.code == 2
    assert ended.errors == (
        f"qtj: {mine} is not empty and has no run of qtj: name an empty folder, or one that does not exist, with "
        "--artifacts\n"
    )
    assert files_of(mine) == before


def test_an_empty_value_of_artifacts_is_an_error(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1))

    ended = laptop.qtj("run", "job.yaml", "--artifacts", "")

    assert ended.code == 2
    assert ended.errors.startswith("qtj: --artifacts is empty: name a folder, ")
    assert {path.name for path in laptop.folder.iterdir()} == {"job.yaml"}


def test_another_run_of_a_complete_job_has_a_folder_of_its_own(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1))
    laptop.qtj("run", "job.yaml")
    before = files_of(laptop.artifacts(run=1))

    again = laptop.qtj("run", "job.yaml")

    assert again.code == 0, again.errors
    assert "toy  starts over; toy/1 stays as it is" in again.output
    assert files_of(laptop.artifacts(run=1)) == before
    assert f"results and logs: {laptop.artifacts(run=2)}" in again.output


def test_an_interrupted_job_goes_on_after_its_checkpoint_without_being_told_to(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=30))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: laptop.trains(epoch=2))

    running.interrupt()
    stopped = running.end()
    again = laptop.qtj("run", "job.yaml", "-o", "json")

    assert stopped.code == 130
    assert stopped.status["phase"] == "Suspended"
    assert "to continue: qtj run job.yaml" in stopped.errors
    assert again.code == 0, again.errors
    assert "toy  continues toy/1, which was interrupted: --fresh starts over" in again.errors
    assert again.job["metadata"]["uid"] == stopped.job["metadata"]["uid"]
    assert (again.status["attempt"], again.status["restarts"]) == (2, 0)
    assert not (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text().startswith("begins after epoch 0")


def test_a_changed_job_starts_over_and_says_why(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=30))
    interrupted(laptop)
    laptop.write(toy_job(epochs=2, workers=1))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    why = "the spec has changed since toy/1 (arguments train 30 -> train 2), which stays as it is"
    assert f"toy  starts over, because {why}" in ended.output
    assert laptop.artifacts().name == "2"


def test_a_run_that_is_under_way_is_not_disturbed(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.training()

    second = laptop.qtj("run", "job.yaml")
    elsewhere = laptop.qtj("run", "job.yaml", "--fresh", "--artifacts", str(laptop.artifacts()))
    running.interrupt()

    assert (second.code, elsewhere.code) == (2, 2)
    assert f"toy/1 is active in {laptop.artifacts()}: follow it with `qtj attach toy/1`" in second.errors
    assert running.end().code == 130


def test_a_failed_job_goes_on_from_its_last_checkpoint_once_its_cause_is_gone(laptop: Laptop) -> None:
    laptop.write(toy_job(20, "--break-after", "3"))
    failed = laptop.qtj("run", "job.yaml", "-o", "json")
    assert (failed.code, failed.status["phase"]) == (1, "Failed")
    assert "once the cause is removed, continue with: qtj run job.yaml --resume" in failed.errors
    (laptop.folder / "mended").touch()

    ended = laptop.qtj("run", "job.yaml", "--resume", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.job["metadata"]["uid"] == failed.job["metadata"]["uid"]
    assert (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text().startswith("begins after epoch 3\n")


def test_a_failed_inference_runs_again_without_training(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1, inference={"args": ["infer", "--break-after", "0"]}))
    failed = laptop.qtj("run", "job.yaml", "-o", "json")
    assert (failed.code, failed.status["reason"]) == (1, "InferenceFailed")
    (laptop.folder / "mended").touch()

    ended = laptop.qtj("run", "job.yaml", "--resume", "-o", "json")

    assert (ended.code, ended.status["attempt"]) == (0, 1), ended.errors


def test_an_interrupted_job_can_be_given_more_epochs_and_workers(laptop: Laptop) -> None:
    job = toy_job()
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "--epochs=30"]
    laptop.write(job)
    interrupted(laptop)
    where = "spec.template.spec.containers[0].args"

    fewer = laptop.qtj("run", "job.yaml", "--resume", "--set", f"{where}=[train, --epochs=2]")
    other = laptop.qtj("run", "job.yaml", "--resume", "--set", f"{where}=[train, --epochs=40, --deaf]")
    more = ["--set", f"{where}=[train, --epochs=32]", "--set", "spec.replicaSpecs.Worker.replicas=3"]
    ended = laptop.qtj("run", "job.yaml", "--resume", *more, "-o", "json")

    assert "it has fewer epochs than the run to continue" in fewer.errors
    assert "run to continue (arguments train --epochs=30 -> train --epochs=40 --deaf): undo that" in other.errors
    assert ended.code == 0, ended.errors
    assert (ended.status["progress"]["epochs"], ended.status["attempt"]) == (32, 2)
    assert ended.status["replicas"]["Worker"]["succeeded"] == 3
    assert not (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text().startswith("begins after epoch 0\n")
    assert laptop.artifacts().name == "1"


def test_resume_refuses_a_job_that_was_changed_and_one_that_never_ran(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=3))

    never = laptop.qtj("run", "job.yaml", "--resume")
    laptop.qtj("run", "job.yaml")
    changed = laptop.qtj("run", "job.yaml", "--resume", "--set", "spec.replicaSpecs.Worker.replicas=3")

    assert (never.code, changed.code) == (2, 2)
    assert "there is no run of toy in this folder to continue: leave --resume out" in never.errors
    assert "spec.replicaSpecs: the training of toy/1 is done, so this cannot be changed" in changed.errors


def test_artifacts_go_where_the_user_says_and_the_run_is_listed_all_the_same(laptop: Laptop) -> None:
    laptop.write(toy_job())

    ended = laptop.qtj("run", "job.yaml", "-o", "json", "--artifacts", "elsewhere")

    assert ended.status["weights"]["uri"] == (laptop.folder / "elsewhere/weights.h5").as_uri()
    assert (laptop.folder / "elsewhere/logs/toy-worker-0.1.log").is_file()
    assert "toy/1   Complete" in laptop.qtj("list").output
    assert laptop.qtj("status", "toy", "-o", "name").output == "toy/1\n"


def test_what_goes_on_with_a_run_is_told_with_its_options(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.start("run", "job.yaml", "--artifacts", "my runs", "--set", "spec.circuit={qubits: 4}")
    wait_until(lambda: list(laptop.folder.glob("my runs/checkpoints/*/*")))

    running.interrupt()
    ended = running.end()

    command = ["qtj", "run", "job.yaml", "--artifacts", "my runs", "--set", "spec.circuit={qubits: 4}"]
    assert ended.output.splitlines()[-1] == f"to continue: {shlex.join(command)}"


def test_a_record_that_is_none_is_a_sentence_and_fresh_begins_beside_it(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1))
    laptop.qtj("run", "job.yaml")
    (laptop.artifacts() / "job.json").write_text("[1]")

    for command in (["run", "job.yaml"], ["run", "job.yaml", "--resume"], ["report", "toy"], ["status", "toy"]):
        ended = laptop.qtj(*command)
        assert (ended.code, ended.errors.count("\n")) == (2, 1), ended.errors
        assert "is not the record of a job: it was changed, so start over with `qtj run FILE --fresh`" in ended.errors

    assert "toy/1   unreadable   1 " in laptop.qtj("list").output
    assert json.loads(laptop.qtj("list", "-o", "json").output)["items"] == []
    assert "toy-worker-0.1  epoch 1/1" in laptop.qtj("logs", "toy").output
    assert laptop.qtj("run", "job.yaml", "--fresh").code == 0
    assert (laptop.artifacts(run=1) / "job.json").read_text() == "[1]"


def test_old_runs_are_listed_and_removed_after_asking(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1))
    (laptop.folder / "data").mkdir()
    for place in ([], ["--artifacts", "data/mine"], []):
        assert laptop.qtj("run", "job.yaml", *place).code == 0
    (laptop.folder / "qtj-artifacts/toy/notes.txt").write_text("mine")

    listed = json.loads(laptop.qtj("list", "-o", "json").output)["items"]
    unasked = laptop.qtj("prune")  # nobody answers
    pruned = laptop.qtj("prune", "--yes")

    assert len(listed) == 3
    assert unasked.code != 0
    assert pruned.code == 0, pruned.errors
    assert f"toy/2  Complete  only the link, {laptop.folder / 'data/mine'} stays" in pruned.output
    assert laptop.qtj("list", "-o", "name").output == "toy/3\n"
    assert (laptop.folder / "data/mine/job.json").is_file()
    assert sorted(path.name for path in (laptop.folder / "qtj-artifacts/toy").iterdir()) == ["3", "notes.txt"]
