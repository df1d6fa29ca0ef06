"""What a user meets at `kubectl apply`: the API server refuses a mistake in words that say what to do."""

from pathlib import Path
from typing import Any

import pytest

from tests.controller.apiserver import ApiServer, wait_until
from tests.jobs import a_container, a_template, job_object

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def applied(server: ApiServer, job: dict[str, Any]) -> str:
    """What kubectl says when the user applies the job."""
    meta = {key: value for key, value in job["metadata"].items() if key in {"name", "namespace"}}
    return server.kubectl("apply", "-f", "-", manifest={**job, "metadata": meta}, check=False)


def a_container_with(**fields: Any) -> dict[str, Any]:
    return a_template(a_container(**fields))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: str(file.name))
def test_every_example_is_accepted(api_server: ApiServer, namespace: str, example: Path) -> None:
    said = api_server.kubectl("apply", "-n", namespace, "-f", str(example), check=False)

    assert "created" in said


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"workers": 2}, 'unknown field "spec.workers"'),
        ({"runPolicy": {"backofLimit": 1}}, 'unknown field "spec.runPolicy.backofLimit"'),
        (
            {"strategy": "Horovod"},
            'spec.strategy: Unsupported value: "Horovod": supported values: "MultiW',
        ),
        ({"replicaSpecs": {"Worker": {"replicas": 0}}}, "spec.replicaSpecs.Worker.replicas in body should be greater"),
        ({"replicaSpecs": {}}, "name at least one role: Worker or Chief"),
        ({"replicaSpecs": {"Chief": {"replicas": 2}}}, "a job has at most one Chief"),
        ({"artifacts": {"uri": "s3://bucket/run"}}, "must begin with gs:// (a bucket) or file:///"),
        ({"artifacts": {"uri": "gs:///run"}}, "names no valid bucket: write gs://BUCKET/PATH"),
        ({"artifacts": {"uri": "gs://b/run"}}, "names no valid bucket: write gs://BUCKET/PATH, where BUCKET has 3 to"),
        ({"artifacts": {"uri": "gs://Lab/run"}}, "names no valid bucket: write gs://BUCKET/PATH"),
        *(
            ({"artifacts": {"uri": "gs://bucket/run", "weights": weights}}, sentence)
            for weights, sentence in (
                ("/w.h5", "must begin with gs:// or file:///, or be a path below artifacts.uri: write for example"),
                ("s3://bucket/w.h5", "must begin with gs:// or file:///, or be a path below artifacts.uri"),
                ("gs://b/w.h5", "names no valid bucket: write gs://BUCKET/PATH"),
                ("a/../../w.h5", "must not lead out of its folder with ..: write the whole address"),
                ("gs://other-bucket", "names a folder: write the address of the file, for example weights.h5"),
                ("weights/", "names a folder: write the address of the file, for example weights.h5"),
                (".", "names a folder: write the address of the file, for example weights.h5"),
                ("", "spec.artifacts.weights in body should be at least 1 chars long"),
            )
        ),
        ({"inference": {"activeDeadlineSeconds": 0}}, "spec.inference.activeDeadlineSeconds in body should be greater"),
        ({"inference": {"template": {"spec": {}}}}, "spec.inference.template.spec.containers: Required value"),
        ({"artifacts": None}, "spec.artifacts: Required value"),
        ({"template": None}, "spec.template: Required value"),
        ({"profiler": {"port": 2222}}, "port 2222 is taken by gRPC and 2224 by metrics: choose another"),
        ({"profiler": {"port": 80}}, "spec.profiler.port in body should be greater than or equal to 1024"),
        ({"circuit": {"qubits": 41}}, "spec.circuit.qubits in body should be less than or equal to 40"),
        ({"circuit": {"qubits": "eight"}}, "spec.circuit.qubits in body must be of type integer"),
        ({"template": a_template(restartPolicy="Always")}, 'spec.template.spec.restartPolicy: Unsupported value: "Alw'),
        ({"template": {"spec": {"containers": []}}}, "spec.template.spec.containers in body should have at least 1"),
        ({"template": {"spec": {}}}, "spec.template.spec.containers: Required value"),
        ({"template": a_container_with(image="")}, "spec.template.spec.containers[0].image in body should be at least"),
        ({"runPolicy": {"backoffLimit": -1}}, "spec.runPolicy.backoffLimit in body should be greater than or equal"),
        ({"runPolicy": {"cleanPodPolicy": "Some"}}, 'spec.runPolicy.cleanPodPolicy: Unsupported value: "Some"'),
        ({"runPolicy": {"successPolicy": "Any"}}, 'spec.runPolicy.successPolicy: Unsupported value: "Any"'),
        ({"runPolicy": {"ttlSecondsAfterFinished": -1}}, "spec.runPolicy.ttlSecondsAfterFinished in body should be"),
        ({"runPolicy": {"schedulingPolicy": {"queueName": ""}}}, "spec.runPolicy.schedulingPolicy.queueName in body"),
        ({"circuit": {"qubits": 8, "precision": "half"}}, 'spec.circuit.precision: Unsupported value: "half"'),
        ({"suspend": "yes"}, "spec.suspend in body must be of type boolean"),
        ({"managedBy": ""}, "spec.managedBy in body should be at least 1 chars long"),
        ({"replicaSpecs": {"PS": {}}}, "name at least one role: Worker or Chief"),
        ({"replicaSpecs": {"Worker": {}, "Evaluator": {"replicas": 2}}}, "a job has at most one Evaluator"),
        (
            {"strategy": "ParameterServer", "replicaSpecs": {"Chief": {}, "Worker": {}}},
            "strategy ParameterServer needs the roles Chief (which coordinates), PS and Worker",
        ),
        (
            {"strategy": "ParameterServer", "replicaSpecs": {"PS": {}, "Worker": {}}},
            "strategy ParameterServer needs the roles Chief (which coordinates), PS and Worker",
        ),
        ({"replicaSpecs": {"PS": {}, "Worker": {}}}, "the role PS belongs to strategy ParameterServer"),
        (
            {"strategy": "MultiWorkerMirrored", "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {}}},
            "the role PS belongs to strategy ParameterServer",
        ),
        (
            {"strategy": "Mirrored", "replicaSpecs": {"Worker": {"replicas": 2}}},
            "strategy Mirrored uses the devices of one pod: name one Worker, or use MultiWorkerMirrored",
        ),
        (
            {"strategy": "Mirrored", "replicaSpecs": {"Chief": {}, "Worker": {}}},
            "strategy Mirrored uses the devices of one pod: name one Worker, or use MultiWorkerMirrored",
        ),
    ],
)
def test_a_mistake_is_refused_with_a_sentence(
    api_server: ApiServer, namespace: str, spec: dict[str, Any], sentence: str
) -> None:
    said = applied(api_server, job_object(namespace=namespace, **spec))

    assert sentence in said
    assert api_server.names("qtj", namespace) == []


@pytest.mark.parametrize(
    "spec",
    [
        {"replicaSpecs": {"Chief": {}}},
        {"replicaSpecs": {"Chief": {"replicas": 1}, "Worker": {"replicas": 3}, "Evaluator": {"replicas": 1}}},
        {
            "strategy": "ParameterServer",
            "replicaSpecs": {"Chief": {}, "PS": {"replicas": 2}, "Worker": {"replicas": 5}, "Evaluator": {}},
        },
        {"strategy": "Mirrored", "replicaSpecs": {"Worker": {}}},
        {"strategy": "Mirrored", "replicaSpecs": {"Chief": {}, "Evaluator": {}}},
        {"strategy": "None", "replicaSpecs": {"PS": {}, "Worker": {"replicas": 2}}},
        {"suspend": True},
        {"artifacts": {"uri": "gs://bucket/run", "weights": "..weights/w..h5"}},
        {"artifacts": {"uri": "gs://bucket/run", "weights": "file:///mnt/w.h5"}},
        {"inference": {"requireWeights": True, "activeDeadlineSeconds": 60, "template": a_template()}},
        {"managedBy": "kueue.x-k8s.io/multikueue"},
        {"circuit": {"qubits": 20, "filters": 4, "precision": "double"}},
        {"runPolicy": {"schedulingPolicy": {"queueName": "quantum"}, "successPolicy": "AllWorkers"}},
        {"runPolicy": {"activeDeadlineSeconds": 60, "pendingDeadlineSeconds": 30, "ttlSecondsAfterFinished": 0}},
    ],
    ids=str,
)
def test_every_shape_of_a_job_is_accepted(api_server: ApiServer, namespace: str, spec: dict[str, Any]) -> None:
    assert "created" in applied(api_server, job_object(namespace=namespace, **spec))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("q" * 52, "metadata.name may have at most 51 characters, because the names of the job's Services are built"),
        ("qcnn.v2", "metadata.name must start with a letter and hold only a-z, 0-9 and -"),
        ("8-qubits", "metadata.name must start with a letter and hold only a-z, 0-9 and -"),
    ],
)
def test_a_name_that_no_service_could_bear_is_refused(
    api_server: ApiServer, namespace: str, name: str, sentence: str
) -> None:
    assert sentence in applied(api_server, job_object(name=name, namespace=namespace))
    assert api_server.names("qtj", namespace) == []


@pytest.mark.parametrize("name", ["q" * 51, "q", "qcnn-8-qubits"])
def test_a_good_name_is_accepted(api_server: ApiServer, namespace: str, name: str) -> None:
    assert "created" in applied(api_server, job_object(name=name, namespace=namespace))


FULL: dict[str, Any] = {
    "strategy": "MultiWorkerMirrored",
    "replicaSpecs": {"Worker": {"replicas": 2, "template": a_container_with(args=["--epochs=25"])}},
    "template": {**a_container_with(args=["--epochs=25"]), "metadata": {"labels": {"team": "quantum"}}},
    "circuit": {"qubits": 8},
    "profiler": {"port": 6009},
    "managedBy": "quantumtraining.dev/qtj-operator",
}


@pytest.mark.parametrize(
    "edit",
    [
        {"template": a_container_with(args=["--epochs=26"])},
        {"template": {**FULL["template"], "metadata": {"labels": {"team": "other"}}}},
        {"template": a_template(a_container(args=["--epochs=25"]), nodeSelector={"gpu": "yes"})},
        {"replicaSpecs": {"Worker": {"replicas": 3}}},
        {"replicaSpecs": {"Worker": {"replicas": 2, "template": a_container_with(args=["--epochs=26"])}}},
        {"circuit": {"qubits": 9}},
        {"circuit": None},
        {"artifacts": {"uri": "gs://other-bucket/qcnn"}},
        {"artifacts": {"uri": "gs://lab-bucket/qcnn", "weights": "w.h5"}},
        {"profiler": {"port": 6010}},
        {"strategy": None},
        {"managedBy": "kueue.x-k8s.io/multikueue"},
        {"managedBy": None},
    ],
    ids=lambda edit: f"{next(iter(edit))}",
)
def test_what_shapes_the_training_cannot_be_changed(
    api_server: ApiServer, namespace: str, edit: dict[str, Any]
) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL))
    api_server.set_status("qtj", namespace, "qcnn", {"attempt": 1, "specDigest": "5eed"})

    said = applied(api_server, job_object(namespace=namespace, **{**FULL, **edit}))

    (field,) = edit
    assert f"{field} cannot be changed once the job has started: create a job with another name" in said
    assert f"spec.{field}: " in said


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"phase": "Suspended"},
        {"phase": "Failed", "reason": "InvalidSpec"},
        {"phase": "Failed", "attempt": 1, "activeSince": "2030-01-01T00:00:00Z"},
        {"phase": "Suspended", "attempt": 2, "activeSince": "2030-01-01T00:00:00Z"},
        {"phase": "Pending", "reason": "ChildRejected", "attempt": 3, "activeSince": "2030-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_before_anything_has_run_everything_may_be_changed(
    api_server: ApiServer, namespace: str, status: dict[str, Any]
) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL))
    api_server.set_status("qtj", namespace, "qcnn", status)

    said = applied(api_server, job_object(namespace=namespace, **{**FULL, "circuit": {"qubits": 9}}))

    assert "configured" in said


BEGUN = {"attempt": 1, "activeSince": "2030-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running", "attempt": 1},
        {"phase": "Failed", "attempt": 1},
        {**BEGUN, "phase": "Pending", "reason": "Starting"},
        {**BEGUN, "phase": "Suspended", "firstRunningTime": "2030-01-01T00:00:00Z"},
        {**BEGUN, "phase": "Pending", "reason": "ChildRejected", "firstRunningTime": "2030-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_once_something_has_run_or_is_on_its_way_nothing_that_shapes_training_may_be_changed(
    api_server: ApiServer, namespace: str, status: dict[str, Any]
) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL))
    api_server.set_status("qtj", namespace, "qcnn", status)

    assert "cannot be changed" in applied(
        api_server, job_object(namespace=namespace, **{**FULL, "circuit": {"qubits": 9}})
    )


@pytest.mark.parametrize("name", ["Not A Label!", "-team", "team-", "a" * 64])
def test_a_queue_is_named_by_a_label(api_server: ApiServer, namespace: str, name: str) -> None:
    policy = {"schedulingPolicy": {"queueName": name}}

    assert "spec.runPolicy.schedulingPolicy.queueName" in applied(
        api_server, job_object(namespace=namespace, runPolicy=policy)
    )


@pytest.mark.parametrize("policy", [{"gang": True}, {"queueName": "team"}], ids=str)
def test_how_pods_come_onto_nodes_is_settled_while_there_are_pods(
    api_server: ApiServer, namespace: str, policy: dict[str, Any]
) -> None:
    wanted = {**FULL, "runPolicy": {"schedulingPolicy": policy}}
    applied(api_server, job_object(namespace=namespace, **FULL))

    refused = applied(api_server, job_object(namespace=namespace, **wanted))
    applied(api_server, job_object(namespace=namespace, **FULL, suspend=True))
    taken = applied(api_server, job_object(namespace=namespace, **wanted))

    assert "runPolicy.schedulingPolicy cannot be changed while the job has pods: suspend it first" in refused
    assert "configured" in taken


@pytest.mark.parametrize("seconds", ["activeDeadlineSeconds", "pendingDeadlineSeconds", "ttlSecondsAfterFinished"])
def test_no_time_is_longer_than_dates_reach(api_server: ApiServer, namespace: str, seconds: str) -> None:
    said = applied(api_server, job_object(namespace=namespace, runPolicy={seconds: 2**31}))

    assert f"spec.runPolicy.{seconds}: Invalid value: 2147483648: " in said


@pytest.mark.parametrize(
    "edit",
    [
        {"inference": {"args": ["infer", "--shots=100"]}},
        {"inference": None},
        {"inference": {"template": a_template(a_container(image="small"))}},
        {"runPolicy": {"backoffLimit": 9}},
        {"runPolicy": {"activeDeadlineSeconds": 60, "cleanPodPolicy": "All"}},
        {"suspend": True},
    ],
    ids=str,
)
def test_what_does_not_shape_the_training_can_be_changed(
    api_server: ApiServer, namespace: str, edit: dict[str, Any]
) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL, inference={}))

    assert "configured" in applied(api_server, job_object(namespace=namespace, **{**FULL, "inference": {}, **edit}))


def test_the_object_stays_as_the_user_wrote_it(api_server: ApiServer, namespace: str) -> None:
    job = job_object(namespace=namespace, template=a_container_with(futureField={"deep": [1, None]}))

    applied(api_server, job)

    assert api_server.get("qtj", "qcnn", "-n", namespace)["spec"] == job["spec"]


def test_kubectl_explains_every_field_of_the_spec(api_server: ApiServer) -> None:
    words = ("explain", "qtj.spec.inference")
    # The API server publishes what it knows of a new CRD a moment later.
    wait_until(lambda: "FIELDS" in api_server.kubectl(*words, check=False), 10, "an explanation")

    assert "args\t<[]string>" in api_server.kubectl(*words)
    assert '["infer"] when left out' in api_server.kubectl(*words)


def test_kubectl_get_has_the_columns(api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace))
    api_server.set_status("qtj", namespace, "qcnn", {"phase": "Running", "ready": "2/2", "progress": _PROGRESS})

    header, row = api_server.kubectl("get", "qtj", "-n", namespace).splitlines()

    assert header.split() == ["NAME", "PHASE", "READY", "EPOCH", "LOSS", "RESTARTS", "AGE"]
    assert row.split()[:5] == ["qcnn", "Running", "2/2", "3", "0.25"]


_PROGRESS = {"epoch": 3, "epochs": 25, "step": 120, "loss": 0.25}
