"""What a user may change with `kubectl apply`, and when: the API server refuses the rest."""

from typing import Any

import pytest

from tests.controller.applied_jobs import a_container_with, applied
from tests.jobs import a_container, a_template, job_object
from tools.api_server import ApiServer

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
        {"replicaSpecs": {**FULL["replicaSpecs"], "Evaluator": {}}},
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
    exception = ", except for numbers of replicas" if field == "replicaSpecs" else ""
    assert f"{field} cannot be changed once the job has started{exception}: create a job with another name" in said
    assert f"spec.{field}: " in said


def test_the_number_of_workers_can_be_changed_at_any_time(api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL))
    api_server.set_status("qtj", namespace, "qcnn", {"attempt": 1, "phase": "Running", "specDigest": "5eed"})
    more = {**FULL["replicaSpecs"]["Worker"], "replicas": 3}

    said = applied(api_server, job_object(namespace=namespace, **{**FULL, "replicaSpecs": {"Worker": more}}))

    assert "configured" in said


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"phase": "Suspended"},
        {"phase": "Failed", "reason": "InvalidSpec"},
        {"phase": "Failed", "attempt": 1, "activeSince": "2030-01-01T00:00:00Z"},
        {"phase": "Suspended", "attempt": 2, "activeSince": "2030-01-01T00:00:00Z"},
        {"phase": "Pending", "reason": "ChildRejected", "attempt": 3, "activeSince": "2030-01-01T00:00:00Z"},
        {"phase": "Pending", "reason": "SpecChanged", "attempt": 2, "firstRunningTime": "2030-01-01T00:00:00Z"},
        {"phase": "Inferring", "reason": "SpecChanged", "attempt": 2, "firstRunningTime": "2030-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_before_anything_has_run_or_while_the_operator_asks_for_it_everything_may_be_changed(
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


def test_a_job_that_waits_for_its_spec_is_not_handed_over(api_server: ApiServer, namespace: str) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL))
    api_server.set_status("qtj", namespace, "qcnn", {**BEGUN, "phase": "Pending", "reason": "SpecChanged"})

    said = applied(api_server, job_object(namespace=namespace, **{**FULL, "managedBy": "kueue.x-k8s.io/multikueue"}))

    assert "managedBy cannot be changed" in said


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


def test_elastic_workers_can_be_asked_for_at_any_time_and_their_number_has_its_bounds(
    api_server: ApiServer, namespace: str
) -> None:
    applied(api_server, job_object(namespace=namespace, **FULL))
    api_server.set_status("qtj", namespace, "qcnn", {"attempt": 1, "phase": "Running", "specDigest": "5eed"})
    elastic = {**FULL, "runPolicy": {"elastic": {"minReplicas": 2, "maxReplicas": 4}}}

    said = applied(api_server, job_object(namespace=namespace, **elastic))
    where = ("scale", "qtj/qcnn", "-n", namespace)
    scaled = api_server.kubectl(*where, "--replicas=4", check=False)
    too_few = api_server.kubectl(*where, "--replicas=1", check=False)

    assert "configured" in said
    assert "scaled" in scaled
    assert "runPolicy.elastic.minReplicas is greater than the replicas of Worker" in too_few
