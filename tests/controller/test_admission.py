"""What a user meets at `kubectl apply`: the API server refuses a mistake in words that say what to do."""

from pathlib import Path
from typing import Any

import pytest

from qtj_operator.manifests.inference import inference_job
from tests.controller.applied_jobs import a_container_with, applied
from tests.jobs import a_job, a_template, job_object
from tools.api_server import ApiServer
from tools.background import wait_until

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


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
        *(
            ({"program": {"configMap": "iris", "entry": "iris.py", "requirements": requirements}}, sentence)
            for requirements, sentence in (
                ({}, "requirements are named by either packages or file"),
                ({"file": "r.txt", "packages": ["a --hash=b"]}, "requirements are named by either packages or file"),
                (
                    {"packages": ["pennylane==0.45.1"]},
                    "each of packages needs a hash, as in `pennylane==0.45.1 --hash=",
                ),
                ({"packages": ["-r x"], "hashes": "Optional"}, "must begin with the name of a package, such as"),
                ({"file": "a/r.txt"}, "must be a key of the ConfigMap, such as requirements.txt, without a folder"),
                ({"file": "r.txt", "index": "pypi"}, "must be an address that begins with https://, http:// or file:"),
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
        (
            {"profiler": {"captures": [{"epoch": 2, "steps": 2}, {"step": 1}, {"epoch": 2, "duration": "2s"}]}},
            "two captures have the same start",
        ),
        ({"replicaSpecs": {"Worker": {}, "Evaluator": {"replicas": 2}}}, "a job has at most one Evaluator"),
        ({"runPolicy": {"elastic": {"minReplicas": 3}}}, "elastic.minReplicas is greater than the replicas of Worker"),
        (
            {"runPolicy": {"elastic": {"minReplicas": 1, "maxReplicas": 1}}},
            "elastic.maxReplicas is smaller than the replicas of Worker: raise it, or lower them",
        ),
        (
            {"runPolicy": {"elastic": {"minReplicas": 1}}, "replicaSpecs": {"Chief": {}}},
            "runPolicy.elastic changes the number of workers: it needs the role Worker",
        ),
        (
            {"runPolicy": {"elastic": {"minReplicas": 1}, "schedulingPolicy": {"queueName": "team"}}},
            "runPolicy.elastic needs pods that are placed one by one",
        ),
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
        {"profiler": {"captures": [{"epoch": 2}, {"step": 2}, {"elapsed": "2s"}, {"epoch": 3}, {"elapsed": "3s"}]}},
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


@pytest.mark.parametrize("name", ["Not A Label!", "-team", "team-", "a" * 64])
def test_a_queue_is_named_by_a_label(api_server: ApiServer, namespace: str, name: str) -> None:
    policy = {"schedulingPolicy": {"queueName": name}}

    assert "spec.runPolicy.schedulingPolicy.queueName" in applied(
        api_server, job_object(namespace=namespace, runPolicy=policy)
    )


@pytest.mark.parametrize("seconds", ["activeDeadlineSeconds", "pendingDeadlineSeconds", "ttlSecondsAfterFinished"])
def test_no_time_is_longer_than_dates_reach(api_server: ApiServer, namespace: str, seconds: str) -> None:
    said = applied(api_server, job_object(namespace=namespace, runPolicy={seconds: 2**31}))

    assert f"spec.runPolicy.{seconds}: Invalid value: 2147483648: " in said


def test_the_object_stays_as_the_user_wrote_it(api_server: ApiServer, namespace: str) -> None:
    job = job_object(namespace=namespace, template=a_container_with(futureField={"deep": [1, None]}))

    applied(api_server, job)

    assert api_server.get("qtj", "qcnn", "-n", namespace)["spec"] == job["spec"]


def test_kubectl_explains_every_field_of_the_spec(api_server: ApiServer) -> None:
    words = ("explain", "qtj.spec.inference")
    # The API server publishes what it knows of a new CRD a moment later.
    wait_until(lambda: "FIELDS" in api_server.kubectl(*words, check=False), 10, "an explanation")

    assert "args\t<[]string>" in api_server.kubectl(*words)
    assert "the same program" in " ".join(api_server.kubectl(*words).split())


def test_kubectl_get_has_the_columns(api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace))
    api_server.set_status("qtj", namespace, "qcnn", {"phase": "Running", "ready": "2/2", "progress": _PROGRESS})

    header, row = api_server.kubectl("get", "qtj", "-n", namespace).splitlines()

    assert header.split() == ["NAME", "PHASE", "REASON", "READY", "EPOCH", "LOSS", "METRIC", "RESTARTS", "AGE"]
    assert row.split()[:5] == ["qcnn", "Running", "2/2", "3", "0.25"]


def test_kubectl_selects_jobs_by_their_phase(api_server: ApiServer, namespace: str) -> None:
    for name, phase in (("one", "Pending"), ("two", "Running")):
        applied(api_server, job_object(name=name, namespace=namespace))
        api_server.set_status("qtj", namespace, name, {"phase": phase})

    waiting = api_server.kubectl("get", "qtj", "-n", namespace, "--field-selector=status.phase=Pending", "-o", "name")

    assert waiting.split() == ["quantumtrainingjob.quantumtraining.dev/one"]


_PROGRESS = {"epoch": 3, "epochs": 25, "step": 120, "loss": 0.25}


def test_an_inference_that_installs_requirements_is_accepted(api_server: ApiServer, namespace: str) -> None:
    requirements = {"packages": ["tiny"], "hashes": "Optional"}
    job = a_job(inference={}, program={"configMap": "iris", "entry": "iris.py", "requirements": requirements})
    assert job.inference is not None
    made = inference_job(job, job.inference, None)
    made["metadata"].pop("ownerReferences", None)
    made["metadata"].pop("namespace", None)

    said = api_server.kubectl("create", "-n", namespace, "--dry-run=server", "-f", "-", manifest=made, check=False)

    assert "created (server dry run)" in said
