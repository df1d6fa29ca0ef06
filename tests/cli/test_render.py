"""`qtj render` shows what the operator creates, exactly."""

import json
from pathlib import Path

import yaml

from qtj_operator.api.job import Job
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from tests.cli.qtj import qtj

EXAMPLE = Path(__file__).parents[2] / "examples/qcnn.yaml"


def test_services_pods_and_inference_are_those_that_the_builders_build() -> None:
    answer = qtj("render", str(EXAMPLE))
    found = list(yaml.safe_load_all(answer.output))

    uid = found[0]["metadata"]["ownerReferences"][0]["uid"]
    manifest = yaml.safe_load(EXAMPLE.read_text())
    manifest["metadata"] |= {"namespace": "default", "uid": uid, "resourceVersion": ""}
    job = Job.parse(manifest)
    replicas = list(job.replicas())

    assert found[:2] == [replica_service(job, replica) for replica in replicas]
    assert found[2:4] == [replica_pod(job, replica, 1) for replica in replicas]
    assert found[4]["kind"] == "Job"


def test_tf_config_is_that_of_the_cluster() -> None:
    pod = list(yaml.safe_load_all(qtj("render", str(EXAMPLE)).output))[3]
    variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}

    assert json.loads(variables["TF_CONFIG"]) == {
        "cluster": {"worker": [f"qcnn-worker-{index}.default.svc:2222" for index in (0, 1)]},
        "task": {"type": "worker", "index": 1},
    }


def test_a_suspended_job_is_shown_as_it_would_run() -> None:
    answer = qtj("render", str(EXAMPLE), "--set", "spec.suspend=true")

    assert answer.output.count("kind: Pod\n") == 2


def test_the_plan_names_objects_and_memory() -> None:
    answer = qtj("plan", str(EXAMPLE), "--set", "spec.circuit.qubits=23")

    assert "Pods       qcnn-worker-0, qcnn-worker-1" in answer.output
    assert "at least 619 MiB per replica for 23 qubits (3 states of 64 MiB, and 427 MiB for" in answer.output
    assert "the limit is 2Gi" in answer.output
