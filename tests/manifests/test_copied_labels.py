"""Labels of a job that are copied reach everything made for it, and replace nothing of ours or of a template."""

from typing import Any

import pytest

from qtj_operator.api.copied_labels import CopiedLabels
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_JOB, LABEL_QUEUE
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.probe import probe_pod
from qtj_operator.manifests.queueing import native_pod_group, pod_group
from qtj_operator.manifests.service import replica_service
from qtj_operator.manifests.tensorboard import BUILT, tensorboard_deployment, tensorboard_service
from tests.jobs import a_template, stored_job

ALL = CopiedLabels(("cost-center", "example.com/"))
LABELS = {"cost-center": "4711", "example.com/team": "vision", "app": "mine", LABEL_QUEUE: "gpus", LABEL_JOB: "victim"}
COPIED = {"cost-center": "4711", "example.com/team": "vision"}


def labelled(copied: CopiedLabels = ALL, **spec: Any) -> Job:
    raw = stored_job(**{"tensorboard": {}, "inference": {}, **spec})
    raw["metadata"]["labels"] = LABELS
    return Job.parse(raw, copied)


def children(job: Job) -> dict[str, Manifest]:
    """Everything that is made for a job, and the pods of what makes pods."""
    board, inference = job.spec.tensorboard, job.inference
    assert board is not None
    assert inference is not None
    made = {
        "pod": replica_pod(job, job.leader, 1),
        "probe": probe_pod(job, job.leader, 1),
        "Service": replica_service(job, job.leader),
        "PodGroup": pod_group(job),
        "PodGroup of Kubernetes": native_pod_group(job, 1),
        "TensorBoard": tensorboard_deployment(job, board, "board:1"),
        "TensorBoard's Service": tensorboard_service(job, board),
        "inference": inference_job(job, inference, None),
    }
    return made | {f"pod of {name}": made[name]["spec"]["template"] for name in ("TensorBoard", "inference")}


KINDS = list(children(labelled()))


@pytest.mark.parametrize("kind", KINDS)
def test_they_reach_everything_that_is_made_for_the_job(kind: str) -> None:
    labels = children(labelled())[kind]["metadata"]["labels"]

    assert labels.items() >= COPIED.items()
    assert not labels.keys() & {"app", LABEL_QUEUE}
    assert labels.get(LABEL_JOB, "qcnn") == "qcnn"


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_list_everything_is_as_before(kind: str) -> None:
    unlabelled = Job.parse(stored_job(tensorboard={}, inference={}))

    assert children(labelled(CopiedLabels()))[kind] == children(unlabelled)[kind]


def test_selectors_have_none_of_them() -> None:
    made = children(labelled())

    for kind in ("Service", "TensorBoard's Service"):
        assert not made[kind]["spec"]["selector"].keys() & COPIED.keys()
    assert not made["TensorBoard"]["spec"]["selector"]["matchLabels"].keys() & COPIED.keys()


def test_the_label_of_a_template_is_the_more_specific_one() -> None:
    template = {**a_template(), "metadata": {"labels": {"cost-center": "1"}}}
    made = children(labelled(template=template, tensorboard={"labels": {"cost-center": "2"}}))

    centers = {kind: made[kind]["metadata"]["labels"]["cost-center"] for kind in KINDS}
    templates = {"pod": "1", "probe": "1", "pod of inference": "1", "pod of TensorBoard": "2"}
    assert centers == dict.fromkeys(KINDS, "4711") | templates


def test_they_are_part_of_what_tensorboard_is_built_from_and_of_no_digest_of_the_job() -> None:
    """A TensorBoard that runs gets them; nothing tells a training that runs to begin anew."""
    before, after = labelled(CopiedLabels()), labelled()

    assert (before.digest, before.fixed_digest) == (after.digest, after.fixed_digest)
    built = [children(job)["pod of TensorBoard"]["metadata"]["annotations"][BUILT] for job in (before, after)]
    assert built[0] != built[1]
