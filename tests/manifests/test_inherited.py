"""What each derived pod inherits of the metadata of its template."""

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
from qtj_operator.manifests.tensorboard import BUILT, deployment_spec, tensorboard_deployment, tensorboard_service
from tests.jobs import a_container, a_job, a_template, stored_job

WRITTEN: dict[str, Any] = {
    "name": "theirs",
    "generateName": "theirs-",
    "namespace": "elsewhere",
    "labels": {"team": "a", "kueue.x-k8s.io/queue-name": "gpus"},
    "annotations": {
        "gke-gcsfuse/volumes": "true",
        "gke-gcsfuse/memory-limit": "1Gi",
        "files.example/mount": "data",
        "sidecar.istio.io/inject": "false",
        "k8s.v1.cni.cncf.io/networks": "rdma",
    },
    "finalizers": ["example.com/hold"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}],
    "deletionGracePeriodSeconds": 0,
}
FUSE = {"csi": {"driver": "gcsfuse.csi.storage.gke.io"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "bucket"}}
OTHER = {"csi": {"driver": "files.example"}}


def job(volume: dict[str, Any], uri: str = "file:///data/run") -> Job:
    container = a_container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
    template = {**a_template(container, volumes=[{"name": "data", **volume}]), "metadata": WRITTEN}
    return a_job(template=template, artifacts={"uri": uri}, tensorboard={}, inference={})


def of_replica(made: Job) -> dict[str, Any]:
    return dict(replica_pod(made, made.leader, 1)["metadata"])


def of_inference(made: Job) -> dict[str, Any]:
    assert made.inference is not None
    return dict(inference_job(made, made.inference, None)["spec"]["template"]["metadata"])


def of_tensorboard(made: Job) -> dict[str, Any]:
    assert made.spec.tensorboard is not None
    return dict(deployment_spec(made, made.spec.tensorboard, "tensorboard:1")["template"]["metadata"])


@pytest.mark.parametrize("derived", [of_replica, of_inference, of_tensorboard])
def test_no_pod_inherits_anything_but_labels_and_annotations(derived: Any) -> None:
    metadata = derived(job(FUSE))

    assert not {"finalizers", "generateName", "deletionGracePeriodSeconds"} & metadata.keys()
    assert metadata.get("name") != "theirs"
    assert metadata.get("namespace") != "elsewhere"
    assert [owner["kind"] for owner in metadata.get("ownerReferences", ())] in ([], ["QuantumTrainingJob"])


@pytest.mark.parametrize("derived", [of_replica, of_inference])
def test_training_and_inference_inherit_all_labels_and_annotations(derived: Any) -> None:
    metadata = derived(job(FUSE))

    assert metadata["labels"].items() >= WRITTEN["labels"].items()
    assert metadata["annotations"] == WRITTEN["annotations"]


@pytest.mark.parametrize(
    ("volume", "inherited"),
    [
        (FUSE, {"gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit"}),
        (CLAIM, {"gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit"}),
        (OTHER, {"gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit", "files.example/mount"}),
        ({"nfs": {"server": "s", "path": "/"}}, set()),
    ],
)
def test_tensorboard_inherits_the_annotations_that_its_volumes_need(
    volume: dict[str, Any], inherited: set[str]
) -> None:
    metadata = of_tensorboard(job(volume))

    assert metadata["annotations"].keys() == {BUILT, *inherited}
    assert not metadata["labels"].keys() & WRITTEN["labels"].keys()


def test_tensorboard_of_a_bucket_mounts_nothing_and_inherits_nothing() -> None:
    assert of_tensorboard(job(FUSE, "gs://lab-bucket/run"))["annotations"].keys() == {BUILT}


def test_another_annotation_of_a_volume_is_another_pod_of_tensorboard() -> None:
    before = of_tensorboard(job(FUSE))["annotations"]
    limit = WRITTEN["annotations"]["gke-gcsfuse/memory-limit"]
    WRITTEN["annotations"]["gke-gcsfuse/memory-limit"] = "2Gi"
    after = of_tensorboard(job(FUSE))["annotations"]
    WRITTEN["annotations"]["gke-gcsfuse/memory-limit"] = limit

    assert before[BUILT] != after[BUILT]


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
