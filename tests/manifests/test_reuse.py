"""`artifacts.reusePolicy`: whose checkpoints and result a job takes for its own."""

from typing import Any

import pytest

from qtj_contract import Env
from qtj_operator.api.job import Job
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import JOB_UID, a_container, a_template, stored_job

URI = "gs://lab-bucket/qcnn"


def identity(pod: Manifest) -> str:
    """What the program stores its checkpoints and its result under."""
    (container,) = pod["spec"]["containers"]
    (found,) = (variable["value"] for variable in container["env"] if variable["name"] == Env.JOB_UID)
    return str(found)


def job(*, uid: str = JOB_UID, policy: str | None = "SameSpec", status: Manifest | None = None, **fields: Any) -> Job:
    artifacts = {"uri": URI, **({"reusePolicy": policy} if policy else {})}
    stored = stored_job(**{"artifacts": artifacts, **fields})
    stored["metadata"]["uid"] = uid
    return Job.parse({**stored, "status": status or {}})


def trained_as(job: Job) -> str:
    return identity(replica_pod(job, job.leader, attempt=1))


@pytest.mark.parametrize("policy", [None, "Never"])
def test_a_job_that_is_created_again_has_an_identity_of_its_own(policy: str | None) -> None:
    assert trained_as(job(policy=policy)) == JOB_UID
    assert trained_as(job(policy=policy, uid="another")) == "another"


def test_a_job_of_the_same_spec_takes_up_what_the_one_before_left() -> None:
    assert trained_as(job()) == trained_as(job(uid="another"))
    assert trained_as(job()) != JOB_UID


@pytest.mark.parametrize(
    "edit",
    [
        {"name": "other"},
        {"namespace": "other"},
        {"template": a_template(a_container(args=["--epochs=9"]))},
        {"artifacts": {"uri": "gs://lab-bucket/other", "reusePolicy": "SameSpec"}},
        {"replicaSpecs": {"Worker": {"replicas": 3}}},
    ],
)
def test_another_name_or_spec_is_another_training(edit: dict[str, Any]) -> None:
    assert trained_as(job(**edit)) != trained_as(job())


def test_a_later_version_of_the_operator_finds_what_was_stored() -> None:
    """If this test fails, every job that is created again trains again: keep the digests as they are."""
    assert trained_as(job()) == "spec-d97a4bb6e872d55de867a592a4ca25a0"


def test_null_means_the_same_as_no_field() -> None:
    assert trained_as(job(profiler=None)) == trained_as(job())


@pytest.mark.parametrize(
    "edit", [{"suspend": False}, {"retry": 1}, {"inference": {}}, {"runPolicy": {"ttlSecondsAfterFinished": 60}}]
)
def test_what_may_be_edited_any_time_is_no_other_training(edit: dict[str, Any]) -> None:
    assert trained_as(job(**edit)) == trained_as(job())


def test_an_edit_that_has_no_effect_does_not_move_the_checkpoints() -> None:
    started = job()
    edited = job(template=a_template(a_container(args=["--epochs=9"])), status={"specDigest": started.digest})

    assert trained_as(edited) == trained_as(started)


def test_inference_belongs_to_the_same_training() -> None:
    evaluated = job(inference={})
    assert evaluated.inference is not None

    built = inference_job(evaluated, evaluated.inference, None)

    assert identity(built["spec"]["template"]) == trained_as(evaluated)
