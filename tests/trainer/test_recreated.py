"""A job that was deleted and created again, as a GitOps tool does after a time to live."""

from pathlib import Path

import qtj_contract as contract
from qtj_operator.api.job import Job
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_container, a_template, stored_job
from tests.trainer.processes import Ended, Trainer
from tests.trainer.test_training import SMALL


def applied(uid: str, folder: Path, policy: str) -> Job:
    """The same manifest, applied once more."""
    stored = stored_job(
        artifacts={"uri": f"file://{folder}", "reusePolicy": policy},
        replicaSpecs={"Worker": {"replicas": 1}},
        template=a_template(a_container(args=["train", "qcnn", *SMALL])),
    )
    stored["metadata"]["uid"] = uid
    return Job.parse(stored)


def run(trainer: Trainer, job: Job) -> Ended:
    """Runs the program as the operator would start it."""
    (container,) = replica_pod(job, job.leader, attempt=1)["spec"]["containers"]
    told = {each["name"]: each["value"] for each in container["env"]}
    names = (contract.Env.JOB_UID, contract.Env.ARTIFACTS_URI)
    return trainer.run(*container["args"], **{name: told[name] for name in names})


def test_a_job_that_is_created_again_with_the_same_spec_is_not_trained_again(trainer: Trainer, tmp_path: Path) -> None:
    first = run(trainer, applied("uid-1", tmp_path, "SameSpec"))
    second = run(trainer, applied("uid-2", tmp_path, "SameSpec"))

    assert (first.code, second.code) == (0, 0), first.errors + second.errors
    assert "has trained before" not in first.output
    assert "has trained before" in second.output
    assert second.message == first.message


def test_without_the_policy_it_trains_anew(trainer: Trainer, tmp_path: Path) -> None:
    run(trainer, applied("uid-1", tmp_path, "Never"))

    assert "has trained before" not in run(trainer, applied("uid-2", tmp_path, "Never")).output
