"""TFJobs become QuantumTrainingJobs, and nothing is lost without a word."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj_operator.api.spec import Spec
from tests.cli.qtj import Answer, qtj, validated

TFJOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "TFJob",
    "metadata": {"name": "mnist", "namespace": "research", "labels": {"kueue.x-k8s.io/queue-name": "gpus"}},
    "spec": {
        "runPolicy": {"backoffLimit": 2, "cleanPodPolicy": "None", "suspend": False, "ttlSecondsAfterFinished": 60},
        "tfReplicaSpecs": {
            role: {
                "replicas": count,
                "restartPolicy": "ExitCode",
                "template": {
                    "spec": {
                        "securityContext": {"runAsUser": 1000},
                        "containers": [{"name": "tensorflow", "image": "mnist:1"}],
                    }
                },
            }
            for role, count in (("Chief", 1), ("PS", 2), ("Worker", 4))
        },
    },
}


def converted(folder: Path, tfjob: dict[str, Any], *options: str) -> Answer:
    (folder / "tfjob.yaml").write_text(yaml.safe_dump(tfjob, sort_keys=False))
    return qtj("convert", "tfjob.yaml", *options)


def test_roles_template_and_policies_are_kept(folder: Path) -> None:
    answer = converted(folder, TFJOB, "--artifacts", "gs://bucket/mnist")
    job = yaml.safe_load(answer.output)
    Spec.model_validate(job["spec"])

    assert (answer.code, answer.errors) == (0, "")
    assert job["metadata"] == TFJOB["metadata"]
    assert job["spec"] == {
        "strategy": "ParameterServer",
        "artifacts": {"uri": "gs://bucket/mnist"},
        "replicaSpecs": {"Chief": {"replicas": 1}, "PS": {"replicas": 2}, "Worker": {"replicas": 4}},
        "template": {
            "spec": {
                "securityContext": {"runAsUser": 1000},
                "containers": [{"name": "trainer", "image": "mnist:1"}],
            }
        },
        "suspend": False,
        "runPolicy": {
            "backoffLimit": 2,
            "cleanPodPolicy": "None",
            "ttlSecondsAfterFinished": 60,
            "schedulingPolicy": {"queueName": "gpus"},
        },
    }


def test_the_result_runs_as_it_is(folder: Path) -> None:
    assert validated(folder, converted(folder, TFJOB, "--artifacts", "gs://bucket/mnist").output).code == 0


def test_a_role_with_its_own_template_keeps_it(folder: Path) -> None:
    tfjob = deepcopy(TFJOB)
    own = tfjob["spec"]["tfReplicaSpecs"]["PS"]["template"] = {
        "spec": {"containers": [{"name": "ps", "image": "ps:1"}]}
    }

    job = yaml.safe_load(converted(folder, tfjob).output)

    assert job["spec"]["replicaSpecs"]["PS"]["template"] == own
    assert "template" not in job["spec"]["replicaSpecs"]["Worker"]


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("spec", "enableDynamicWorker"), True, "spec.enableDynamicWorker: the number of replicas is fixed here"),
        (("spec", "runPolicy", "managedBy"), "x/y", "spec.runPolicy.managedBy: it names a controller of TFJobs"),
        (
            ("spec", "runPolicy", "schedulingPolicy"),
            {"minAvailable": 3},
            "spec.runPolicy.schedulingPolicy.minAvailable: a gang is always whole here: gang: true",
        ),
        (
            ("spec", "tfReplicaSpecs", "Worker", "restartPolicy"),
            "Sometimes",
            "spec.tfReplicaSpecs.Worker.restartPolicy: Sometimes is not Always, OnFailure, Never or ExitCode",
        ),
        (
            ("spec", "tfReplicaSpecs", "Worker", "restartPolicy"),
            "OnFailure",
            "spec.tfReplicaSpecs.Worker.restartPolicy: an exit code from 1 to 127 except 75 is final here",
        ),
        (("spec", "somethingNew"), 1, "spec.somethingNew: this has no equivalent"),
    ],
)
def test_what_has_no_counterpart_is_said(folder: Path, path: tuple[str, ...], value: object, sentence: str) -> None:
    tfjob = deepcopy(TFJOB)
    here = tfjob
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value

    answer = converted(folder, tfjob, "--artifacts", "gs://bucket/mnist")

    assert answer.code == 0
    assert [line for line in answer.sentences if sentence in line and line.startswith("tfjob.yaml:")]


def test_policies_of_old_tfjobs_become_the_run_policy(folder: Path) -> None:
    tfjob = deepcopy(TFJOB)
    tfjob["spec"] |= {"runPolicy": {"backoffLimit": 2}, "cleanPodPolicy": "All", "backoffLimit": 5}

    answer = converted(folder, tfjob, "--artifacts", "gs://bucket/mnist")
    policy = yaml.safe_load(answer.output)["spec"]["runPolicy"]

    assert (policy["cleanPodPolicy"], policy["backoffLimit"], answer.errors) == ("All", 2, "")


def test_an_image_that_may_run_as_root_is_warned_of(folder: Path) -> None:
    tfjob = deepcopy(TFJOB)
    del tfjob["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["securityContext"]

    answer = converted(folder, tfjob, "--artifacts", "gs://bucket/mnist")

    assert len(answer.sentences) == 1
    assert "PS: an image that runs as root does not start, because pods have runAsNonRoot: true: set" in answer.errors


def test_a_gang_of_a_tfjob_is_a_gang_here(folder: Path) -> None:
    tfjob = deepcopy(TFJOB)
    tfjob["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 7}

    policy = yaml.safe_load(converted(folder, tfjob).output)["spec"]["runPolicy"]["schedulingPolicy"]

    assert policy == {"queueName": "gpus", "gang": True}


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("nonsense", "--artifacts nonsense: must begin with gs:// (a bucket) or file:/// (a volume that every replica"),
        ("gs://b/p", "--artifacts gs://b/p: names no valid bucket: write gs://BUCKET/PATH"),
    ],
)
def test_artifacts_that_are_no_address_are_refused(folder: Path, uri: str, sentence: str) -> None:
    answer = converted(folder, TFJOB, "--artifacts", uri)

    assert (answer.code, answer.output) == (2, "")
    assert answer.sentences[0].startswith(sentence)


def test_without_artifacts_a_bucket_is_asked_for(folder: Path) -> None:
    answer = converted(folder, TFJOB)

    assert "put your bucket in place of BUCKET" in answer.errors
    assert yaml.safe_load(answer.output)["spec"]["artifacts"] == {"uri": "gs://BUCKET/mnist"}


def test_a_file_without_a_tfjob_is_refused(folder: Path) -> None:
    answer = converted(folder, {**TFJOB, "kind": "PyTorchJob"})

    assert (answer.code, answer.sentences) == (2, ["tfjob.yaml: there is no TFJob in this file: name one that has one"])


def test_a_tfjob_of_one_replica_keeps_that_it_has_no_cluster(folder: Path) -> None:
    worker = TFJOB["spec"]["tfReplicaSpecs"]["Worker"]
    for replicas, strategy in ((1, "None"), (None, "None"), (2, "MultiWorkerMirrored")):
        counted = {**worker, "replicas": replicas} if replicas else {k: v for k, v in worker.items() if k != "replicas"}
        tfjob = {**TFJOB, "spec": {"tfReplicaSpecs": {"Worker": counted}}}
        answer = converted(folder, tfjob, "--artifacts", "gs://bucket/mnist")

        assert yaml.safe_load(answer.output)["spec"]["strategy"] == strategy
        assert ("tf.estimator refuses" in answer.errors) == (strategy == "None")
        assert "without a Chief" not in answer.errors

    alone = {**TFJOB, "spec": {"tfReplicaSpecs": {"Chief": TFJOB["spec"]["tfReplicaSpecs"]["Chief"]}}}
    answer = converted(folder, alone, "--artifacts", "gs://bucket/mnist")
    assert yaml.safe_load(answer.output)["spec"]["strategy"] == "MultiWorkerMirrored", "its cluster has a chief"
