"""A training is one run of a real MLflow, whatever interrupts it, and each epoch is there once."""

import json
from collections.abc import Iterator

import pytest

from tests.trainer.loops import LOOP, Folder
from tests.trainer.mlflow_server import Mlflow, serving
from tests.trainer.processes import Trainer
from tools.background import free_ports

KILLED = "epoch.number == 5 and os.kill(os.getpid(), 9)"
"""In the first step after the fourth checkpoint."""
JOB = {"QTJ_JOB": "toy", "QTJ_NAMESPACE": "lab", "QTJ_IMAGE": "ours:1"}


@pytest.fixture(scope="session")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mlflow]:
    (port,) = free_ports(1)
    with serving(tmp_path_factory.mktemp("mlflow"), port) as server:
        yield server


@pytest.mark.slow
def test_a_job_that_is_killed_and_continued_is_one_run(job: Folder, mlflow: Mlflow) -> None:
    variables = {**JOB, **mlflow.variables("killed")}
    killed = job.run(KILLED, sent(each=True), QTJ_ATTEMPT="1", **variables)
    first = mlflow.only_run("killed")

    ended = job.run("pass", sent(each=True), QTJ_ATTEMPT="2", **variables)

    assert (killed.code, ended.code) == (-9, 0), killed.errors + ended.errors
    run = mlflow.only_run("killed")
    assert (first.status, run.status, run.name) == ("RUNNING", "FINISHED", "toy")
    assert list(run.curves["loss"]) == [1, 2, 3, 4, 5, 6]
    assert run.curves["accuracy"].items() >= first.curves["accuracy"].items()
    assert run.curves["result/mean"] == {6: ended.metrics["mean"]}
    assert {name: run.tags[f"qtj.{name}"] for name in ("job", "namespace", "attempt", "image", "script")} == {
        "job": "toy",
        "namespace": "lab",
        "attempt": "2",
        "image": "ours:1",
        "script": "program.py",
    }
    assert run.tags["qtj.weights"] == ended.weights.uri
    assert run.tags["qtj.weights.sha256"] == ended.weights.sha256
    assert len(run.tags["qtj.program"]) == 64
    assert "MLflow" not in ended.errors


def test_epochs_that_a_server_has_missed_are_sent_by_the_next_attempt(job: Folder, mlflow: Mlflow) -> None:
    variables = {**JOB, **mlflow.variables("missed"), "QTJ_PROGRESS_LOG": str(job.path / "log")}
    (closed,) = free_ports(1)
    killed = job.run(
        KILLED,
        sent(),
        QTJ_ATTEMPT="1",
        **{**variables, "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{closed}"},
    )

    ended = job.run("pass", sent(), QTJ_ATTEMPT="2", **variables)

    assert (killed.code, ended.code) == (-9, 0), killed.errors + ended.errors
    run = mlflow.only_run("missed")
    assert list(run.curves["loss"]) == [1, 2, 3, 4, 5, 6]
    assert list(run.curves["accuracy"]) == [1, 2, 3, 4, 5, 6]


def test_a_program_without_a_job_keeps_its_run_beside_its_checkpoints(
    job: Folder, other: Folder, mlflow: Mlflow
) -> None:
    variables = {**mlflow.variables("alone"), "QTJ_JOB_UID": ""}
    killed = job.run(KILLED, sent(each=True), **variables)
    ended = job.run("pass", sent(each=True), QTJ_RESUME="1", **variables)

    run = mlflow.only_run("alone")
    assert (killed.code, ended.code) == (-9, 0), ended.errors
    assert (run.status, run.name) == ("FINISHED", "program")
    assert list(run.curves["loss"]) == [1, 2, 3, 4, 5, 6]
    assert [path.name for path in job.path.glob("artifacts/tracking/*")] == ["local"]

    other.run("pass", sent(), **variables)
    assert [list(run.curves["loss"]) for run in mlflow.runs("alone")] == [[1, 2, 3, 4, 5, 6]] * 2


def test_a_workload_has_its_options_and_the_names_of_keras(trainer: Trainer, job: Folder, mlflow: Mlflow) -> None:
    options = ("--epochs", "2", "--batch-size", "20", "--artifacts", str(job.path))
    ended = trainer.run("train", "linear-regression", *options, **JOB, QTJ_JOB_UID="uid-4", **mlflow.variables("line"))

    assert ended.code == 0, ended.errors
    run = mlflow.only_run("line")
    assert (run.parameters["workload"], run.parameters["batch_size"]) == ("linear-regression", "20")
    assert {"loss", "val_loss", "examples_per_second"} <= run.curves.keys()
    assert list(run.curves["val_loss"]) == [1, 2]


def test_names_that_mlflow_refuses_are_changed_and_secrets_are_not_sent(job: Folder, mlflow: Mlflow) -> None:
    odd = {"f1@5": 0.5, "../x": 0.25, "val/loss": 0.125, "größe": 1.0}
    source = sent().replace("HERE", "pass").replace("accuracy=1 / (1 + state.losses[-1])", f"**{odd}")
    job.path.mkdir()
    program = job.path / "program.py"
    program.write_text(source)
    variables = {**mlflow.variables("odd"), "QTJ_ARTIFACTS_URI": str(job.path / "artifacts")}
    words = ("--lr=0.5", "--api-token", "hunter2", "--shift", "-3", "--fast", "data.csv", "--long", "x" * 600)

    ended = job.trainer.start_program(program, *words, **variables).end()

    run = mlflow.only_run("odd")
    assert ended.code == 0, ended.errors
    assert "MLflow" not in ended.errors
    assert {"f1_5", "x", "val/loss", "größe"} <= run.curves.keys()
    assert run.parameters == {
        "lr": "0.5", "api-token": "(not shown)", "shift": "-3", "fast": "data.csv", "long": "x" * 500,
    }  # fmt: skip


def sent(*, each: bool = False) -> str:
    """The loop; each epoch is sent before the next one if `each`."""
    wait = "    while program._session.replica.tracked._tracker._is_due: program._session.replica.tracked.flush()\n"
    return f"import os\n{LOOP}".replace("    print(", f"{wait if each else ''}    print(")


def study_of(number: int, name: str = "rates") -> dict[str, str]:
    """The variables of a trial."""
    study = {"name": name, "id": f"uid-of-{name}"}
    return {
        "QTJ_JOB": f"{name}-{number}",
        "QTJ_JOB_UID": f"{name}-uid-{number}",
        "QTJ_PARAMETERS": f'{{"rate": 0.{number}}}',
        "QTJ_STUDY": json.dumps(study),
    }


def test_the_trials_of_a_study_are_below_one_run_also_after_a_restart(
    job: Folder, other: Folder, mlflow: Mlflow
) -> None:
    variables = mlflow.variables("study")
    killed = job.run(KILLED, sent(each=True), **variables, **study_of(1))
    first = mlflow.runs("study")
    ended = [
        job.run("pass", sent(), QTJ_ATTEMPT="2", **variables, **study_of(1)),
        other.run("pass", sent(), **variables, **study_of(2)),
    ]

    assert [killed.code, *(each.code for each in ended)] == [-9, 0, 0], killed.errors + ended[0].errors
    runs = {run.name: run for run in mlflow.runs("study")}
    assert {run.name for run in first} == {"rates", "rates-1"}
    assert runs.keys() == {"rates", "rates-1", "rates-2"}
    assert len(mlflow.runs("study")) == 3
    parents = {runs[name].tags["mlflow.parentRunId"] for name in ("rates-1", "rates-2")}
    assert parents == {runs["rates"].identity}
    assert (runs["rates"].status, runs["rates"].curves) == ("FINISHED", {})
    assert (runs["rates-1"].parameters["rate"], runs["rates-2"].parameters["rate"]) == ("0.1", "0.2")
    assert list(runs["rates-1"].curves["loss"]) == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
def test_two_trials_that_start_together_have_one_parent_in_the_end(job: Folder, other: Folder, mlflow: Mlflow) -> None:
    variables = mlflow.variables("together")
    started = [
        job.start("pass", sent(each=True), **variables, **study_of(1, "pair")),
        other.start("pass", sent(each=True), **variables, **study_of(2, "pair")),
    ]
    assert [each.end().code for each in started] == [0, 0]

    runs = mlflow.runs("together")
    (parent,) = (run for run in runs if run.name == "pair")
    assert [run.tags["mlflow.parentRunId"] for run in runs if run is not parent] == [parent.identity] * 2
