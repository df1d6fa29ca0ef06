"""Specs that can never run."""

from dataclasses import replace
from typing import Any

import pytest

from qtj_operator.core import invalid_spec
from qtj_operator.core.invalid_spec import fault
from qtj_operator.core.platform import CLUSTER
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.tf_config import tf_config
from tests.core.refused import sentence, template
from tests.core.world import later, new_job, running_job
from tests.jobs import a_container, a_job, a_template


@pytest.mark.parametrize("value", [True, 1, 0.5, ["y"]])
@pytest.mark.parametrize("field", ["annotations", "labels"])
def test_a_label_or_an_annotation_that_is_no_text_is_refused_with_its_path(field: str, value: object) -> None:
    """`{a: y}` in YAML is true, which the API server refuses in a pod, and takes in a job."""
    own = {**a_template(), "metadata": {field: {"fine": "y", "empty": None, "a": value}}}

    assert sentence(template=own) == f"spec.template.metadata.{field}.a: this has to be text: put it in quotes"
    assert sentence(replicaSpecs={"Worker": {"template": own}}).startswith("spec.replicaSpecs.Worker.template.metadata")


def test_a_job_that_has_started_is_not_judged_by_it() -> None:
    world = running_job(template={**a_template(), "metadata": {"annotations": {"a": True}}})

    assert (world.job.status.phase, world.decide().actions) == ("Running", ())


@pytest.mark.parametrize("name", ["TF_CONFIG", "QTJ_ATTEMPT", "QTJ_WEIGHTS_URI", "QTJ_TERMINATION_LOG"])
def test_a_variable_of_ours_in_the_template_is_refused(name: str) -> None:
    message = sentence(template=template(env=[{"name": "A", "value": "1"}, {"name": name, "value": "x"}]))

    assert message == (
        f"spec.template.spec.containers[trainer] sets {name}, which the operator writes for every replica: "
        "remove it from the template"
    )


def test_a_variable_of_ours_is_found_in_an_init_container_too() -> None:
    data = a_container(name="data", env=[{"name": "TF_CONFIG", "value": "{}"}])

    assert "spec.template.spec.initContainers[data] sets TF_CONFIG" in sentence(
        template=a_template(initContainers=[data])
    )


def test_a_variable_of_ours_is_found_in_a_roles_own_template_too() -> None:
    own = template(env=[{"name": "QTJ_JOB", "value": "x"}])

    assert "spec.replicaSpecs.Worker.template.spec.containers[trainer] sets QTJ_JOB" in sentence(
        replicaSpecs={"Worker": {"template": own}}
    )


def test_a_variable_that_only_resembles_ours_is_fine() -> None:
    decision = new_job(template=template(env=[{"name": "QTJ_MINE"}, {"name": "tf_config"}])).decide()

    assert decision.status.attempt == 1


def test_artifacts_in_a_folder_of_the_container_are_refused() -> None:
    message = sentence(artifacts={"uri": "file:///results/qcnn"})

    assert message == (
        "artifacts.uri file:///results/qcnn is on no volume that spec.template.spec.containers[trainer] mounts, so "
        "the weights would be lost with the pod: mount a shared volume there, or use gs://"
    )


@pytest.mark.parametrize("path", ["/results", "/results/", "/"])
def test_artifacts_on_a_volume_are_fine(path: str) -> None:
    mounted = template(volumeMounts=[{"name": "shared", "mountPath": path}])

    decision = new_job(artifacts={"uri": "file:///results/qcnn"}, template=mounted).decide()

    assert decision.status.attempt == 1


@pytest.mark.parametrize("path", ["/res", "/results/other", "/results/qcnn/deeper"])
def test_a_volume_somewhere_else_does_not_help(path: str) -> None:
    mounted = template(volumeMounts=[{"name": "shared", "mountPath": path}])

    assert "is on no volume" in sentence(artifacts={"uri": "file:///results/qcnn"}, template=mounted)


def mounting(*mounts: str, **volumes: dict[str, Any] | None) -> dict[str, Any]:
    """A template with volumes by name, mounted as `name:path` says."""
    pairs = [mount.split(":") for mount in mounts]
    container = a_container(volumeMounts=[{"name": name, "mountPath": path} for name, path in pairs])
    return a_template(container, volumes=[{"name": name, **(kind or {})} for name, kind in volumes.items()])


@pytest.mark.parametrize("kind", ["emptyDir", "configMap", "secret", "downwardAPI", "projected", "ephemeral"])
def test_artifacts_on_a_volume_that_is_deleted_with_the_pod_are_refused(kind: str) -> None:
    message = sentence(artifacts={"uri": "file:///data/x"}, template=mounting("own:/data", own={kind: {}}))

    assert message == (
        f"artifacts.uri file:///data/x is on the {kind} volume own that spec.template.spec.containers[trainer] "
        "mounts, so the weights would be lost with the pod: mount a shared volume there, or use gs://"
    )


def test_a_volume_without_a_kind_is_an_empty_folder_to_kubernetes() -> None:
    for volume in ({}, {"persistentVolumeClaim": None}):
        message = sentence(artifacts={"uri": "file:///data/x"}, template=mounting("own:/data", own=volume))

        assert "is on the emptyDir volume own" in message


@pytest.mark.parametrize("kind", ["persistentVolumeClaim", "nfs", "hostPath", "csi"])
def test_artifacts_on_a_volume_that_stays_are_fine(kind: str) -> None:
    decision = new_job(
        artifacts={"uri": "file:///data/x"},
        template=mounting("own:/tmp", "shared:/data", own={"emptyDir": {}}, shared={kind: {}, "emptyDir": None}),
    ).decide()

    assert decision.status.attempt == 1


@pytest.mark.parametrize(("inner", "refused"), [("own", True), ("shared", False)])
def test_of_mounts_within_one_another_the_innermost_counts(inner: str, refused: bool) -> None:
    outer = "shared" if inner == "own" else "own"
    nested = mounting(f"{inner}:/data/x", f"{outer}:/data", own={"emptyDir": {}}, shared={"nfs": {}})

    decision = new_job(artifacts={"uri": "file:///data/x/y"}, template=nested).decide()

    assert (decision.status.reason == "InvalidSpec") == refused


def test_the_program_needs_the_volume_and_its_helpers_do_not() -> None:
    shared = [{"name": "shared", "mountPath": "/results"}]
    helped = a_template(a_container(name="proxy"), a_container(volumeMounts=shared))

    decision = new_job(artifacts={"uri": "file:///results"}, template=helped).decide()

    assert decision.status.attempt == 1


def test_an_invalid_spec_is_reported_once_and_nothing_more_is_done() -> None:
    world = new_job(template=template(env=[{"name": "TF_CONFIG"}])).recorded()

    again = world.decide(later(days=1))

    assert again.status == world.job.status
    assert (again.events, again.actions, again.wake_at) == ((), (), None)


def test_an_invalid_spec_is_reported_as_a_warning() -> None:
    (event,) = new_job(template=template(env=[{"name": "TF_CONFIG"}])).decide().events

    assert (event.type, event.reason) == ("Warning", "InvalidSpec")


def test_an_edit_of_what_may_be_edited_does_not_revive_an_invalid_spec() -> None:
    world = new_job(template=template(env=[{"name": "TF_CONFIG"}])).recorded()

    decision = world.with_spec(inference={}).decide()

    assert (decision.status.phase, decision.status.reason) == ("Failed", "InvalidSpec")
    assert decision.actions == ()


def test_a_job_that_runs_already_is_left_alone_when_the_rules_get_stricter() -> None:
    running = running_job(workers=2)
    bad = running.with_spec(template=template(env=[{"name": "TF_CONFIG"}]))

    assert bad.decide().status.phase == "Running"


def test_a_template_that_no_role_uses_does_no_harm() -> None:
    own = template(volumeMounts=[{"name": "shared", "mountPath": "/results"}])

    decision = new_job(
        artifacts={"uri": "file:///results"},
        template=template(env=[{"name": "TF_CONFIG"}]),
        replicaSpecs={"Worker": {"template": own}},
    ).decide()

    assert decision.status.attempt == 1


def test_a_cluster_that_does_not_fit_into_one_variable_is_refused_before_linux_does_it() -> None:
    world = new_job(workers=1_000)
    far = replace(world, job=replace(world.job, name="q" * 51, namespace="n" * 63))

    decision = far.decide()

    assert world.decide().status.attempt == 1, "with short names it fits"
    assert (decision.status.phase, decision.status.reason) == ("Failed", "InvalidSpec")
    assert "for 1000 replicas, and Linux allows 131072" in (decision.status.conditions or ())[-1].message
    assert (decision.status.conditions or ())[-1].message.endswith(
        ": use fewer replicas, or a shorter name for the job or its namespace"
    )


def test_a_variable_may_be_as_long_as_linux_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    job = new_job(workers=2).job
    text = f"TF_CONFIG={tf_config(job, job.leader)}\0"

    monkeypatch.setattr(invalid_spec, "MAX_VARIABLE", len(text))
    fits = invalid_spec.tf_config_too_long(job)
    monkeypatch.setattr(invalid_spec, "MAX_VARIABLE", len(text) - 1)
    sentence = invalid_spec.tf_config_too_long(job)

    assert fits is None
    assert (sentence or "").startswith(f"TF_CONFIG would have {len(text)} bytes for 2 replicas")


def test_a_job_that_never_started_says_nothing_of_running() -> None:
    world = new_job(circuit={"qubits": 40}, template=a_template(a_container(resources={"limits": {"memory": "1Gi"}})))

    for status in (world.decide().status, world.recorded().decide().status):
        assert [condition.type for condition in status.conditions or ()] == ["Failed", "Reconciling", "Stalled"]


@pytest.mark.parametrize("field", [{"restartPolicy": "Always"}, {"restartPolicyRules": [{"action": "Restart"}]}])
def test_a_container_that_the_kubelet_would_restart_is_refused(field: dict[str, Any]) -> None:
    assert sentence(template=template(**field)) == (
        "spec.template.spec.containers[trainer] sets restartPolicy: remove it, the operator restarts replicas"
    )


def test_a_native_sidecar_may_have_a_restart_policy() -> None:
    proxy = a_container(name="proxy", restartPolicy="Always")

    assert new_job(template=a_template(initContainers=[proxy])).decide().status.phase == "Pending"


def test_a_mistake_in_inferences_own_template_is_reported_when_training_starts() -> None:
    decision = new_job(inference={"template": template(env=[{"name": "TF_CONFIG", "value": "x"}])}).decide()

    assert decision.status.attempt == 1
    (event,) = (event for event in decision.events if event.type == "Warning")
    assert event.message.startswith("training starts, but inference will fail: spec.inference.template.spec.containers")


def refusal(*, workers: int = 2, **pod: Any) -> str | None:
    return fault(a_job(workers=workers, template=a_template(**pod)), CLUSTER)


def test_a_pod_on_the_network_of_its_node_asks_the_dns_of_the_cluster() -> None:
    job = a_job(template=a_template(hostNetwork=True))

    assert fault(job, CLUSTER) is None
    assert replica_pod(job, job.leader, 1)["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_the_dns_policy_of_other_pods_stays_as_it_is_written() -> None:
    for pod in ({}, {"hostNetwork": False}, {"dnsPolicy": "None"}, {"hostNetwork": True, "dnsPolicy": "None"}):
        job = a_job(template=a_template(**pod))

        assert replica_pod(job, job.leader, 1)["spec"].get("dnsPolicy") == pod.get("dnsPolicy")


@pytest.mark.parametrize(
    ("pod", "better"),
    [
        ({"dnsPolicy": "Default"}, "ClusterFirst"),
        ({"dnsPolicy": "Default", "hostNetwork": True}, "ClusterFirstWithHostNet"),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, "ClusterFirstWithHostNet"),
    ],
)
def test_replicas_that_ask_the_name_servers_of_the_node_are_refused(pod: dict[str, Any], better: str) -> None:
    sentence = refusal(**pod)

    assert sentence is not None
    assert sentence.startswith("spec.template.spec sets ")
    assert sentence.endswith(f"these do not know the names of other replicas: write dnsPolicy: {better}")
    assert refusal(workers=1, **pod) is None, "it has no peers"
    assert refusal(**pod, dnsConfig={"nameservers": ["10.96.0.10"]}) is None, "its author knows better"


@pytest.mark.parametrize("level", ["pod", "container"])
def test_root_that_its_author_forbids_is_refused(level: str) -> None:
    non_root = {"runAsNonRoot": True}
    pod: dict[str, Any] = {"securityContext": non_root} if level == "pod" else {}
    own = {"runAsUser": 0, **({} if level == "pod" else non_root)}

    sentence = refusal(initContainers=[a_container(name="chown", securityContext=own)], **pod)

    assert sentence == (
        "spec.template.spec.initContainers[chown] has runAsUser: 0 and runAsNonRoot: true, so the kubelet would never "
        "start it: remove one of them, or write runAsNonRoot: false in the securityContext of this container"
    )


def test_root_that_its_author_allows_is_fine() -> None:
    root = a_container(name="chown", securityContext={"runAsUser": 0, "runAsNonRoot": False})
    other = a_container(name="chown", securityContext={"runAsUser": 1000})

    assert refusal(initContainers=[root], securityContext={"runAsNonRoot": True}) is None
    assert refusal(initContainers=[other], securityContext={"runAsNonRoot": True}) is None
