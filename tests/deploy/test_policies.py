"""`deploy/policies` on a real API server: what a job of a limited namespace may name, and the answer if it may not."""

import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj_operator.api.names import API_VERSIONS
from tests.controller.conftest import api_server, namespace
from tests.controller.operator_process import EXAMPLE, SOON
from tests.deploy.chart import DEPLOY
from tools.api_server import ApiServer
from tools.background import wait_until

__all__ = ["api_server", "namespace"]

NAMESPACE = "limited"
QCNN = yaml.safe_load(EXAMPLE.read_text())
ALLOWED = "registry.example.com/quantum/trainer:1"
CONTAINER = {"name": "trainer", "image": ALLOWED}
EMPTY = ("volumes", "initContainers", "serviceAccountName", "serviceAccount", "hostNetwork", "hostPID", "hostIPC")
"""What a template of templates often writes without a value."""
PRIVILEGED = CONTAINER | {"securityContext": {"privileged": True}}
ADMIN = CONTAINER | {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
SECRETS = "other Secrets than these are not allowed here: trainer; the ConfigMap qtj-limits lists them"
TOKEN = {"serviceAccountToken": {"path": "token"}}
CERTIFICATE = {"podCertificate": {"signerName": "kubernetes.io/kube-apiserver-client-pod", "keyType": "ED25519"}}
CREDENTIALS = "a token or a certificate for the API server in a pod is not allowed here"
ON_NODE = {"ports": [{"containerPort": 2222}, {"containerPort": 80, "hostPort": 80}]}


def with_pod(**fields: object) -> dict[str, Any]:
    """The example with other fields in the pod's spec of its template."""
    job: dict[str, Any] = deepcopy(QCNN)
    job["spec"]["template"]["spec"] |= fields
    return job


def projected(source: dict[str, Any]) -> dict[str, Any]:
    return {"name": "p", "projected": {"sources": [source]}}


def from_secret(name: str) -> dict[str, Any]:
    return {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": name, "key": "key"}}}


def labelled(name: str, value: str) -> dict[str, Any]:
    """The example with a label in its template."""
    job: dict[str, Any] = deepcopy(QCNN)
    job["spec"]["template"]["metadata"] = {"labels": {name: value}}
    return job


def with_pods(*path: str, **fields: object) -> dict[str, Any]:
    """The example with a template of its own below a field of the spec."""
    job: dict[str, Any] = deepcopy(QCNN)
    holder = job["spec"]
    for name in path:
        holder = holder[name]
    holder["template"] = {"spec": fields}
    return job


def with_board(**fields: object) -> dict[str, Any]:
    """The example with a TensorBoard."""
    return {**QCNN, "spec": {**QCNN["spec"], "tensorboard": fields}}


REQUIREMENTS = {"file": "requirements.txt"}


def with_program(**fields: object) -> dict[str, Any]:
    """The example with a program of its author's own."""
    return {**QCNN, "spec": {**QCNN["spec"], "program": {"configMap": "iris", "entry": "train.py", **fields}}}


@pytest.fixture(scope="module")
def limited(api_server: ApiServer) -> ApiServer:
    """An API server with the policy in force in one namespace.

    Both stay: another process may hand over tests of this module later, and an API server finds the lists of a policy
    that is created again no more (`docs/operations/access.md`).
    """
    api_server.ensure_namespaces(NAMESPACE, "qtj-system")
    api_server.kubectl("label", "namespace", NAMESPACE, "quantumtraining.dev/limits=enforced")
    api_server.kubectl("apply", "-k", str(DEPLOY / "policies"))
    wait_until(lambda: "hostNetwork" in answer(api_server, with_pod(hostNetwork=True)), SOON, "the policy")
    return api_server


def answer(server: ApiServer, job: Mapping[str, Any], namespace: str = NAMESPACE) -> str:
    return server.refusal(job, namespace)


@pytest.mark.parametrize(
    "job",
    [
        QCNN,
        with_pod(containers=[CONTAINER]),
        with_pod(serviceAccountName="trainer", serviceAccount="trainer"),
        with_pod(volumes=[{"name": "data", "emptyDir": {}}], hostNetwork=False),
        with_pod(**dict.fromkeys(EMPTY)),
        with_pod(containers=[CONTAINER | dict.fromkeys(("securityContext", "ports"))]),
        with_pod(containers=[CONTAINER | {"securityContext": {"privileged": None}, "ports": [{"hostPort": None}]}]),
        with_pod(containers=[CONTAINER | {"securityContext": {"privileged": False}, "ports": [{"hostPort": 0}]}]),
        with_pod(volumes=[{"name": "data", "emptyDir": {}, "hostPath": None, "image": None}]),
        with_pods("replicaSpecs", "Worker", containers=[CONTAINER], **dict.fromkeys(EMPTY)),
        with_pod(containers=[CONTAINER | {"env": [from_secret("trainer"), {"name": "A", "value": "b"}]}]),
        with_pod(
            volumes=[{"name": "s", "secret": {"secretName": "trainer"}}, projected({"secret": {"name": "trainer"}})]
        ),
        with_pod(containers=[CONTAINER | {"securityContext": {"capabilities": {"add": ["NET_BIND_SERVICE"]}}}]),
        with_pod(containers=[CONTAINER | {"securityContext": {"capabilities": None}, "env": None, "envFrom": None}]),
        with_pod(volumes=[{"name": "data", "emptyDir": {}, "secret": None, "projected": None}]),
        with_pod(volumes=[projected({"secret": None, "serviceAccountToken": None, "configMap": {"name": "a"}})]),
        with_pod(
            containers=[CONTAINER | {"env": [{"name": "A", "valueFrom": None}], "envFrom": [{"secretRef": None}]}]
        ),
        with_pod(automountServiceAccountToken=False, hostUsers=False),
        labelled("app.kubernetes.io/name", "mine"),
        with_program(),
        with_program(requirements=REQUIREMENTS),
        with_board(),
        with_board(image="registry.example.com/quantum/board:1", serviceType="ClusterIP"),
        with_board(serviceAnnotations=None, priorityClassName=None),
        with_pod(priorityClassName="training"),
        with_board(serviceAccountName="trainer"),
        with_board(serviceAccountName=None),
    ],
    ids=[
        *("the example", "an image of the registry", "an allowed account", "a harmless volume"),
        *("fields without a value", "a container's fields without a value", "inner fields without a value"),
        *("an ordinary container", "a volume's fields without a value", "a role's fields without a value"),
        *("a Secret in env", "Secrets in volumes", "a harmless capability", "capabilities without a value"),
        *("Secrets without a value", "sources without a value", "variables without a value", "no token", "a label"),
        *("a program", "requirements"),
        *("the operator's TensorBoard", "a TensorBoard of the registry", "a TensorBoard's fields without a value"),
        "a priority class",
        *("a TensorBoard with an allowed account", "a TensorBoard's account without a value"),
    ],
)
def test_what_the_lists_allow_is_created(limited: ApiServer, job: Mapping[str, Any]) -> None:
    assert answer(limited, job) == ""


def test_the_examples_with_our_image_are_created(limited: ApiServer) -> None:
    texts = [path.read_text() for path in EXAMPLE.parent.glob("*.yaml")]
    jobs = [one for text in texts if "image: registry" not in text for one in yaml.safe_load_all(text)]

    refused = {job["metadata"]["name"]: said for job in jobs if (said := answer(limited, job))}
    assert refused == {}
    assert len(jobs) > 1


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (
            with_pod(containers=[CONTAINER | {"image": "evil.example/x"}]),
            "images are not allowed here: evil.example/x;",
        ),
        (
            with_pod(initContainers=[{"name": "first", "image": "registry.example.com/quantum-evil/x"}]),
            "images are not allowed here: registry.example.com/quantum-evil/x;",
        ),
        (
            with_pod(volumes=[{"name": "data", "image": {"reference": "evil.example/data"}}]),
            "images are not allowed here: evil.example/data;",
        ),
        (
            with_pods("replicaSpecs", "Worker", containers=[CONTAINER | {"image": "evil.example/worker"}]),
            "images are not allowed here: evil.example/worker;",
        ),
        (
            with_pods("inference", containers=[CONTAINER | {"image": "evil.example/infer"}]),
            "images are not allowed here: evil.example/infer;",
        ),
        (with_pod(serviceAccountName="admin"), "service accounts are not allowed here: admin;"),
        (with_pod(serviceAccount="admin"), "service accounts are not allowed here: admin;"),
        (with_pod(volumes=[{"name": "node", "hostPath": {"path": "/"}}]), "a volume with hostPath is not allowed here"),
        (with_pod(hostPID=True), "hostNetwork, hostPID, hostIPC and hostUsers: true are not allowed here"),
        (with_pod(hostUsers=True), "hostNetwork, hostPID, hostIPC and hostUsers: true are not allowed here"),
        (with_pod(containers=[ADMIN]), "capabilities other than NET_BIND_SERVICE are not allowed here"),
        (
            with_pods("inference", containers=[CONTAINER], initContainers=[ADMIN | {"name": "first"}]),
            "capabilities other than NET_BIND_SERVICE are not",
        ),
        (with_pod(volumes=[{"name": "s", "secret": {"secretName": "admin"}}]), SECRETS),
        (with_pod(volumes=[projected({"secret": {"name": "admin"}})]), SECRETS),
        (with_pod(containers=[CONTAINER | {"env": [from_secret("admin")]}]), SECRETS),
        (with_pods("inference", containers=[CONTAINER | {"envFrom": [{"secretRef": {"name": "admin"}}]}]), SECRETS),
        (with_pod(volumes=[projected(TOKEN)]), CREDENTIALS),
        (with_pod(volumes=[projected(CERTIFICATE)]), CREDENTIALS),
        (with_pod(automountServiceAccountToken=True), CREDENTIALS),
        (labelled("quantumtraining.dev/tensorboard", "qcnn"), "a label by which the operator's objects are found"),
        (labelled("app.kubernetes.io/name", "qtj-operator"), "a label by which the operator's objects are found"),
        (with_pod(containers=[PRIVILEGED]), "privileged containers are not allowed here"),
        (with_pod(initContainers=[PRIVILEGED]), "privileged containers are not allowed here"),
        (with_pods("inference", containers=[PRIVILEGED]), "privileged containers are not allowed here"),
        (with_pod(containers=[CONTAINER | ON_NODE]), "hostPort is not allowed here; a replica has a Service"),
        (with_pod(initContainers=[CONTAINER | ON_NODE]), "hostPort is not allowed here; a replica has a Service"),
        (with_board(image="evil.example/board:1"), "images are not allowed here: evil.example/board:1;"),
        (with_board(serviceAccountName="admin"), "service accounts are not allowed here: admin;"),
        (with_board(serviceType="NodePort"), "a TensorBoard with a Service of type NodePort is not allowed here;"),
        (
            with_board(serviceAnnotations={"tailscale.com/expose": "true"}),
            "these annotations of a Service are not allowed here: tailscale.com/expose;",
        ),
        (with_pod(priorityClassName="system-node-critical"), "a priority class of the system is not allowed here"),
        (with_board(priorityClassName="system-node-critical"), "a priority class of the system is not allowed here"),
    ],
    ids=[
        *("image", "prefix", "image volume", "role", "inference", "account", "old account", "hostPath", "hostPID"),
        *("hostUsers", "capability", "capability of inference", "Secret", "projected Secret", "Secret in env"),
        *("Secret in envFrom", "projected token", "certificate", "mounted token", "label of ours", "name of ours"),
        *("privileged", "privileged at first", "privileged inference", "hostPort", "hostPort at first"),
        *("TensorBoard", "account of TensorBoard", "exposed TensorBoard", "annotated TensorBoard"),
        *("priority", "priority of TensorBoard"),
    ],
)
def test_everything_else_is_refused_with_a_sentence(limited: ApiServer, job: Mapping[str, Any], sentence: str) -> None:
    assert sentence in answer(limited, job)


@pytest.mark.parametrize("field", ["template", "inference", "replicaSpecs", "tensorboard", "program"])
def test_the_policy_has_an_answer_to_a_part_of_the_job_without_a_value(limited: ApiServer, field: str) -> None:
    said = answer(limited, {**QCNN, "spec": {**QCNN["spec"], field: None}})

    assert "resulted in error" not in said
    assert "ValidatingAdmissionPolicy" not in said


def test_lists_in_another_namespace_are_found_there(limited: ApiServer, namespace: str, tmp_path: Path) -> None:
    lists = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "qtj-limits", "namespace": "qtj-system"}}
    strict = yaml.safe_dump(lists | {"data": {"serviceAccounts": "lab"}})
    overlay = {
        "resources": [os.path.relpath(DEPLOY / "policies", tmp_path.resolve())],
        "namespace": namespace,
        "namePrefix": "lab-",
        "patches": [{"patch": strict}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    rendered = limited.kubectl("kustomize", str(tmp_path))
    (binding,) = (each for each in yaml.safe_load_all(rendered) if each["kind"].endswith("Binding"))
    assert binding["spec"]["paramRef"]["namespace"] == namespace

    limited.kubectl("apply", "-k", str(tmp_path))
    try:
        wait_until(lambda: "are not allowed here: default;" in answer(limited, QCNN), SOON, "the other lists")
    finally:
        limited.kubectl("delete", "-k", str(tmp_path))
        wait_until(lambda: not answer(limited, QCNN), SOON, "the lists of before")


@pytest.mark.parametrize("version", API_VERSIONS)
def test_a_job_is_limited_whatever_version_it_is_written_in(limited: ApiServer, version: str) -> None:
    assert "admin;" in answer(limited, with_pod(serviceAccountName="admin") | {"apiVersion": version})


@pytest.mark.parametrize(
    ("match", "refused"),
    [("Equivalent", {"v1alpha1", "v1beta1"}), ("Exact", {"v1alpha1"})],
)
def test_a_policy_that_names_one_version_refuses_the_other_too_unless_it_asks_for_an_exact_match(
    api_server: ApiServer, namespace: str, match: str, refused: set[str]
) -> None:
    api_server.kubectl("apply", "-f", "-", manifest=policy_of_one_version(match, namespace))
    jobs = {version.partition("/")[2]: QCNN | {"apiVersion": version} for version in API_VERSIONS}

    wait_until(lambda: "no jobs" in answer(api_server, jobs["v1alpha1"], namespace), SOON, "the policy")
    assert {version for version, job in jobs.items() if "no jobs" in answer(api_server, job, namespace)} == refused
    api_server.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "one-version")


def policy_of_one_version(match: str, namespace: str) -> Mapping[str, object]:
    """A policy of a platform team from before v1beta1, and its binding to a namespace."""
    resource = {"apiGroups": ["quantumtraining.dev"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"]}
    rules = [{**resource, "resources": ["quantumtrainingjobs"]}]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "one-version"}}
    policy = {
        "matchConstraints": {"matchPolicy": match, "resourceRules": rules},
        "validations": [{"expression": "false", "message": "no jobs"}],
    }
    binding = {
        "policyName": "one-version",
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": selector},
    }
    items = [
        {**kind, "kind": "ValidatingAdmissionPolicy", "spec": policy},
        {**kind, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


@pytest.mark.parametrize(
    ("limit", "field", "forbidden", "allowed"),
    [
        ("programs", "spec.program", with_program(), QCNN),
        ("requirements", "spec.program.requirements", with_program(requirements=REQUIREMENTS), with_program()),
    ],
)
def test_programs_and_requirements_can_be_forbidden(
    limited: ApiServer, limit: str, field: str, forbidden: dict[str, Any], allowed: dict[str, Any]
) -> None:
    limits = yaml.safe_load((DEPLOY / "policies/limits.yaml").read_text())
    try:
        limited.kubectl("apply", "-f", "-", manifest={**limits, "data": {**limits["data"], limit: "forbidden"}})
        wait_until(lambda: f"{field} is not allowed here" in answer(limited, forbidden), SOON, "the list")
        assert answer(limited, allowed) == ""
    finally:
        limited.kubectl("apply", "-f", "-", manifest=limits)
        wait_until(lambda: not answer(limited, forbidden), SOON, "the list")


def test_a_namespace_without_the_label_is_not_limited(limited: ApiServer, namespace: str) -> None:
    assert answer(limited, with_pod(serviceAccountName="admin"), namespace) == ""


def test_a_job_from_before_the_policy_can_be_suspended_and_deleted_but_get_no_such_pods_again(
    limited: ApiServer,
) -> None:
    bad = with_pod(serviceAccountName="admin")
    bad["spec"]["tensorboard"] = {}
    limited.kubectl("label", "namespace", NAMESPACE, "quantumtraining.dev/limits-")
    wait_until(lambda: not answer(limited, bad), SOON, "a namespace without limits")
    limited.kubectl("create", "-n", NAMESPACE, "-f", "-", manifest=bad)
    limited.kubectl("label", "namespace", NAMESPACE, "quantumtraining.dev/limits=enforced")
    wait_until(lambda: "admin;" in answer(limited, bad | {"metadata": {"name": "other"}}), SOON, "the limits again")

    assert "patched" in patched(limited, '{"spec":{"suspend":true},"metadata":{"labels":{"team":"a"}}}')
    assert "not allowed here: admin;" in patched(limited, '{"spec":{"template":{"spec":{"priority":1}}}}')
    assert "patched" in patched(limited, '{"spec":{"tensorboard":null}}')
    assert "not allowed here: admin;" in patched(limited, '{"spec":{"tensorboard":{}}}')
    assert "deleted" in limited.kubectl("delete", "-n", NAMESPACE, "qtj", "qcnn", "--wait=false")


def patched(server: ApiServer, patch: str) -> str:
    return server.kubectl("patch", "-n", NAMESPACE, "qtj", "qcnn", "--type=merge", f"--patch={patch}", check=False)


def test_without_the_lists_nothing_is_created(limited: ApiServer) -> None:
    limited.kubectl("delete", "configmap", "-n", "qtj-system", "qtj-limits")
    try:
        wait_until(lambda: "no params found" in answer(limited, QCNN), SOON, "the lists are gone")
    finally:
        limited.kubectl("apply", "-k", str(DEPLOY / "policies"))
        wait_until(lambda: not answer(limited, QCNN), SOON, "the lists are back")
