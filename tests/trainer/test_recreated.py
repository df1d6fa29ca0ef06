"""A job that was deleted and created again, as a GitOps tool does after a time to live."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_operator.api.job import Job
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_container, a_template, stored_job
from tests.trainer.processes import Ended, Trainer
from tools.background import wait_until

LINE = ("train", "linear-regression", "--examples", "100", "--epochs")


def applied(uid: str, folder: Path, policy: str) -> Job:
    """The same manifest, applied once more."""
    stored = stored_job(
        artifacts={"uri": f"file://{folder}", "reusePolicy": policy},
        replicaSpecs={"Worker": {"replicas": 1}},
        template=a_template(a_container(args=[*LINE, "1"])),
    )
    stored["metadata"]["uid"] = uid
    return Job.parse(stored)


def variables(job: Job) -> dict[str, str]:
    """The part of the environment that decides where the program stores and looks for results."""
    (container,) = replica_pod(job, job.leader, attempt=1)["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    return {name: environment[name] for name in (contract.Env.JOB_UID, contract.Env.ARTIFACTS_URI)}


def run(trainer: Trainer, job: Job, *more: str) -> Ended:
    """Runs the program as the operator would start it.

    Args:
        trainer: Starts processes.
        job: The job.
        more: Arguments whose values are in a ConfigMap, which the spec only names.
    """
    return trainer.run(*LINE, "1", *more, **variables(job))


def reused(ended: Ended) -> bool:
    return "has finished already: its weights are" in ended.output


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trained") / "artifacts"


@pytest.fixture(scope="module")
def once(trainer: Trainer, artifacts: Path) -> Ended:
    """The job, before it was deleted."""
    ended = run(trainer, applied("uid-1", artifacts, "SameSpec"))
    assert (ended.code, reused(ended)) == (0, False), ended.errors
    return ended


@pytest.fixture
def trained(once: Ended, artifacts: Path) -> Iterator[Ended]:
    """The same, with its artifacts as they were then."""
    kept = artifacts.with_name("kept")
    shutil.copytree(artifacts, kept)
    yield once
    shutil.rmtree(artifacts)
    kept.rename(artifacts)


def test_a_job_that_is_created_again_with_the_same_spec_is_not_trained_again(
    trainer: Trainer, trained: Ended, artifacts: Path
) -> None:
    again = run(trainer, applied("uid-2", artifacts, "SameSpec"))

    assert (again.code, reused(again)) == (0, True), again.errors
    assert again.message == trained.message


def test_weights_that_were_deleted_meanwhile_are_trained_again(
    trainer: Trainer, trained: Ended, artifacts: Path
) -> None:
    weights = Path(trained.weights.uri.removeprefix("file://"))
    weights.unlink()

    again = run(trainer, applied("uid-2", artifacts, "SameSpec"))

    assert (again.code, reused(again)) == (0, False), again.errors
    assert "trains again" in again.output + again.errors
    assert Path(again.weights.uri.removeprefix("file://")).exists()


def test_a_config_map_with_other_options_means_another_training(
    trainer: Trainer, trained: Ended, artifacts: Path
) -> None:
    again = run(trainer, applied("uid-2", artifacts, "SameSpec"), "--learning-rate=0.05")

    assert (again.code, reused(again)) == (0, False), again.errors
    assert again.weights != trained.weights


def test_a_job_that_was_deleted_before_it_had_trained_continues(trainer: Trainer, tmp_path: Path) -> None:
    first = trainer.start(*LINE, "1000000", **variables(applied("uid-1", tmp_path, "SameSpec")))
    wait_until(lambda: any(tmp_path.glob("checkpoints/*/*.npz")))
    first.popen.send_signal(signal.SIGTERM)
    assert first.end().code == 143

    again = trainer.start(*LINE, "1000000", **variables(applied("uid-2", tmp_path, "SameSpec")))

    again.wait_for("resumed after epoch")


def test_without_the_policy_it_trains_from_the_start(trainer: Trainer, tmp_path: Path) -> None:
    run(trainer, applied("uid-1", tmp_path, "Never"))

    assert not reused(run(trainer, applied("uid-2", tmp_path, "Never")))
