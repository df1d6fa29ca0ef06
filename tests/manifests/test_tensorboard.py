"""TensorBoard's Deployment and Service, beside the shapes of the golden files."""

from typing import Any

import pytest
from pydantic import ValidationError

from qtj_operator.api.defaults import TENSORBOARD_PORT
from qtj_operator.api.job import Job
from qtj_operator.api.names import LABEL_JOB, LABEL_TENSORBOARD, MAX_NAME_LENGTH
from qtj_operator.api.spec import Spec
from qtj_operator.api.tensorboard import TensorBoard
from qtj_operator.manifests.tensorboard import BUILT, deployment_spec, tensorboard_deployment, tensorboard_service
from tests.jobs import a_container, a_job, a_template, job_object

GCS = {"name": "STORAGE_EMULATOR_HOST", "value": "http://gcs:4443"}
KEY = {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/keys/key.json"}


def board(**job: Any) -> Job:
    return a_job(**{"tensorboard": {}, **job})


def pod(job: Job) -> dict[str, Any]:
    assert job.spec.tensorboard is not None
    spec: dict[str, Any] = deployment_spec(job, job.spec.tensorboard, "tensorboard:1")["template"]["spec"]
    return spec


def container(job: Job) -> dict[str, Any]:
    (only,) = pod(job)["containers"]
    assert isinstance(only, dict)
    return only


def digest(job: Job, image: str = "tensorboard:1") -> str:
    assert job.spec.tensorboard is not None
    built = deployment_spec(job, job.spec.tensorboard, image)
    return str(built["template"]["metadata"]["annotations"][BUILT])


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("gs://lab-bucket/qcnn", "gs://lab-bucket/qcnn/logs"),
        ("gs://lab-bucket/qcnn/", "gs://lab-bucket/qcnn/logs"),
        ("file:///mnt/lab/qcnn", "/mnt/lab/qcnn/logs"),
        ("file:///mnt/my%20lab/", "/mnt/my lab/logs"),
    ],
)
def test_it_reads_the_folder_that_the_trainer_writes(uri: str, folder: str) -> None:
    assert f"--logdir={folder}" in container(board(artifacts={"uri": uri}))["args"]


def test_it_gets_the_variables_that_clients_of_buckets_read_and_no_secret_of_the_program() -> None:
    proxy = {"name": "https_proxy", "value": "http://proxy:3128"}
    token = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "token"}}}
    sources = [{"configMapRef": {"name": "gcs"}}, {"secretRef": {"name": "wandb"}}]
    template = a_template(a_container(env=[GCS, token, proxy], envFrom=sources))

    built = container(board(template=template))

    assert built["env"] == [{"name": "HOME", "value": "/tmp"}, GCS, proxy]
    assert built["envFrom"] == [{"configMapRef": {"name": "gcs"}}]


def test_it_gets_the_volume_of_a_file_with_credentials_and_no_other() -> None:
    mounts = [{"name": "keys", "mountPath": "/keys"}, {"name": "data", "mountPath": "/data"}]
    keys = {"name": "keys", "secret": {"secretName": "gcs"}}
    template = a_template(a_container(env=[KEY], volumeMounts=mounts), volumes=[keys, {"name": "data", "emptyDir": {}}])

    built = pod(board(template=template))

    assert [volume["name"] for volume in built["volumes"]] == ["keys", "tensorboard-tmp"]
    assert built["containers"][0]["volumeMounts"][0] == {"name": "keys", "mountPath": "/keys", "readOnly": True}


def test_artifacts_on_a_volume_need_no_variable() -> None:
    template = a_template(a_container(env=[GCS], envFrom=[{"configMapRef": {"name": "gcs"}}]))

    built = container(board(template=template, artifacts={"uri": "file:///mnt/lab"}))

    assert built["env"] == [{"name": "HOME", "value": "/tmp"}]
    assert "envFrom" not in built


def on_volume(**mount: Any) -> Job:
    """A job with the artifacts on a volume that is mounted in this way."""
    template = a_template(
        a_container(env=[GCS, {"name": "TEAM", "value": "blue"}], volumeMounts=[{"name": "lab", **mount}]),
        volumes=[{"name": "lab", "persistentVolumeClaim": {"claimName": "lab"}}],
    )
    return board(template=template, artifacts={"uri": f"file://{mount['mountPath'].rstrip('/')}/qcnn"})


@pytest.mark.parametrize("path", ["/tmp", "/tmp/"])
def test_artifacts_in_the_folder_of_temporary_files_stay_there(path: str) -> None:
    built = container(on_volume(mountPath=path))

    mounts = {mount["name"]: mount["mountPath"] for mount in built["volumeMounts"]}
    assert mounts == {"lab": path, "tensorboard-tmp": "/tensorboard-tmp"}, "a path can be mounted once"
    assert built["env"] == [{"name": name, "value": "/tensorboard-tmp"} for name in ("HOME", "TMPDIR")]


def test_a_volume_of_the_user_with_the_name_of_our_own_stays_another_one() -> None:
    mount = {"name": "tensorboard-tmp", "mountPath": "/mnt/lab"}
    template = a_template(a_container(volumeMounts=[mount]), volumes=[{"name": "tensorboard-tmp", "emptyDir": {}}])

    built = pod(board(template=template, artifacts={"uri": "file:///mnt/lab/qcnn"}))

    assert [volume["name"] for volume in built["volumes"]] == ["tensorboard-tmp", "tensorboard-tmp-2"]
    mounts = {mount["mountPath"]: mount["name"] for mount in built["containers"][0]["volumeMounts"]}
    assert mounts == {"/mnt/lab": "tensorboard-tmp", "/tmp": "tensorboard-tmp-2"}


def test_a_variable_in_the_path_of_a_mount_comes_with_it() -> None:
    built = container(on_volume(mountPath="/mnt/lab", subPathExpr="teams/$(TEAM)"))

    assert built["volumeMounts"][0]["subPathExpr"] == "teams/$(TEAM)"
    assert built["env"][1:] == [{"name": "TEAM", "value": "blue"}]


@pytest.mark.parametrize("where", ["pod", "container"])
def test_it_never_runs_as_root(where: str) -> None:
    as_root = {"securityContext": {"runAsUser": 0, "runAsNonRoot": False, "runAsGroup": 7}}
    of_container, of_pod = (as_root, {}) if where == "container" else ({}, as_root)

    context = pod(board(template=a_template(a_container(**of_container), **of_pod)))["securityContext"]

    assert context == {"runAsGroup": 7, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_it_is_the_user_who_wrote_the_artifacts() -> None:
    template = a_template(
        a_container(securityContext={"runAsUser": 1234}), securityContext={"runAsUser": 1, "fsGroup": 5}
    )

    context = pod(board(template=template))["securityContext"]

    assert (context["runAsUser"], context["fsGroup"]) == (1234, 5)


def test_the_leading_replicas_template_is_the_one_that_counts() -> None:
    roles = {"Chief": {"template": a_template(serviceAccountName="lead")}, "Worker": {}}

    assert pod(board(replicaSpecs=roles))["serviceAccountName"] == "lead"


def test_a_suspended_job_asks_for_no_pod_and_for_the_same_one_later() -> None:
    job = board(suspend=True)
    assert job.spec.tensorboard is not None

    assert deployment_spec(job, job.spec.tensorboard, "tensorboard:1")["replicas"] == 0
    assert digest(job) == digest(board())


def test_the_digest_changes_with_what_is_built() -> None:
    digests = {
        digest(board()),
        digest(board(), image="tensorboard:2"),
        digest(board(tensorboard={"serviceType": "NodePort"})),
        digest(board(tensorboard={"resources": {"limits": {"memory": "4Gi"}}})),
        digest(board(artifacts={"uri": "gs://lab-bucket/other"})),
    }

    assert len(digests) == 5


def test_the_port_of_the_service_leaves_the_program_alone() -> None:
    job = board(tensorboard={"port": 80})
    assert job.spec.tensorboard is not None

    (port,) = tensorboard_service(job, job.spec.tensorboard)["spec"]["ports"]

    assert (port["port"], port["targetPort"]) == (80, TENSORBOARD_PORT)
    assert digest(job) == digest(board())


def test_its_name_fits_the_longest_name_of_a_job() -> None:
    job = board(name="q" * MAX_NAME_LENGTH)
    assert job.spec.tensorboard is not None

    assert len(tensorboard_service(job, job.spec.tensorboard)["metadata"]["name"]) <= 63


def test_no_replica_keeps_away_from_it() -> None:
    job = board()
    assert job.spec.tensorboard is not None
    labels = tensorboard_deployment(job, job.spec.tensorboard, "tensorboard:1")["spec"]["template"]["metadata"][
        "labels"
    ]

    assert "quantumtraining.dev/job" not in labels, "by this label, replicas may ask for nodes of their own"


@pytest.mark.parametrize(
    "image",
    ["tensorboard", "lab/tensorboard:2", "localhost:5000/a/b_c:v1.2", "gcr.io/lab/tb@sha256:" + "0" * 64, "REG.io/tb"],
)
def test_names_of_images_are_valid(image: str) -> None:
    assert Spec.read(job_object(tensorboard={"image": image})["spec"]).tensorboard


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ({"image": "lab/TensorBoard:2"}, "this is no name of an image"),
        ({"image": "tensorboard 2"}, "this is no name of an image"),
        ({"image": "https://lab/tensorboard"}, "this is no name of an image"),
        ({"image": "tensorboard:"}, "this is no name of an image"),
        ({"image": ""}, "at least 1 character"),
        ({"port": 0}, "greater than or equal to 1"),
        ({"port": 65536}, "less than or equal to 65535"),
        ({"port": "http"}, "valid integer"),
        ({"serviceType": "ExternalName"}, "'ClusterIP', 'NodePort' or 'LoadBalancer'"),
        ({"resources": {"limits": {"memory": "lots"}}}, "this is no quantity"),
        ({"resources": {"limits": {"cpu": 0.5}}}, "this is no quantity"),
        ({"resources": {"limits": {"cpu": "-1"}}}, "this is no quantity"),
        ({"resources": {"limit": {}}}, "Extra inputs"),
        ({"logdir": "gs://lab"}, "Extra inputs"),
    ],
)
def test_mistakes_are_refused(field: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Spec.read(job_object(tensorboard=field)["spec"])


def template(**fields: Any) -> dict[str, Any]:
    board = TensorBoard.model_validate(fields)
    built: dict[str, Any] = deployment_spec(a_job(), board, "board:1")["template"]
    return built


def test_its_pod_gets_labels_and_annotations_but_none_of_ours_is_replaced() -> None:
    labels = {"cost-center": "4711", LABEL_TENSORBOARD: "other", LABEL_JOB: "other", "app.kubernetes.io/part-of": "x"}
    meta = template(labels=labels, annotations={"team": "vision", BUILT: "none"})["metadata"]

    assert meta["labels"]["cost-center"] == "4711"
    assert meta["labels"][LABEL_TENSORBOARD] == meta["labels"]["app.kubernetes.io/part-of"] == "qcnn"
    assert LABEL_JOB not in meta["labels"]
    assert meta["annotations"]["team"] == "vision"
    assert meta["annotations"][BUILT] != "none"


def test_its_pod_is_placed_as_written() -> None:
    placed = {
        "nodeSelector": {"pool": "cheap"},
        "tolerations": [{"key": "team", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        "priorityClassName": "low",
    }

    assert placed.items() <= template(**placed)["spec"].items()
    assert not placed.keys() & template()["spec"].keys()


def test_its_service_account_is_its_own_or_that_of_the_leading_replica() -> None:
    theirs = a_job(template=a_template(serviceAccountName="trainer"))

    def account(**fields: Any) -> Any:
        spec = deployment_spec(theirs, TensorBoard.model_validate(fields), "board:1")["template"]["spec"]
        assert spec["automountServiceAccountToken"] is False
        return spec["serviceAccountName"]

    assert account() == "trainer"
    assert account(serviceAccountName="reader") == "reader"
    assert "serviceAccountName" not in template()["spec"]


def test_its_service_gets_its_annotations_alone() -> None:
    board = TensorBoard.model_validate({"serviceAnnotations": {"lb/internal": "true"}, "annotations": {"a": "b"}})

    assert tensorboard_service(a_job(), board)["metadata"]["annotations"] == {"lb/internal": "true"}


def test_each_field_changes_the_digest() -> None:
    fields: list[dict[str, Any]] = [{}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"tolerations": [{}]}]

    assert len({template(**each)["metadata"]["annotations"][BUILT] for each in fields}) == len(fields)


def test_a_mistake_in_a_toleration_is_refused() -> None:
    with pytest.raises(ValidationError):
        TensorBoard.model_validate({"tolerations": [{"effect": "Never"}]})
