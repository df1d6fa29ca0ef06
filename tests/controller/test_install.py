"""What `deploy/` installs may do what the operator does, and nothing else."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from qtj_contract import Progress
from qtj_operator.api.study_status import StudyPhase, StudyReason
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.reconcile import utc_now
from qtj_operator.controller.study_memory import StudyMemory
from tests.controller.operator_process import EXAMPLE, SOON, WORKERS, running
from tools.api_server import KUBECONFIG, OPERATOR, OPERATOR_TOKEN, ApiServer, Programs
from tools.background import wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
CLUSTER_WIDE = "system:serviceaccount:qtj-system:qtj-operator"
OURS = (
    *("create pods", "delete pods", "create services", "patch services", "delete services"),
    *("create deployments.apps", "patch deployments.apps", "delete deployments.apps"),
    *("create jobs.batch", "create events"),
)


@pytest.fixture(scope="module")
def namespaced(api_server: ApiServer) -> Iterator[ApiServer]:
    """An API server with the operator's rights in the namespace `quantum`."""
    api_server.ensure_namespaces("quantum")
    api_server.kubectl("apply", "-k", str(DEPLOY / "namespaced"))
    yield api_server
    api_server.kubectl("delete", "-k", str(DEPLOY / "namespaced"), "--wait=false")


def may(server: ApiServer, who: str, what: str, namespace: str) -> bool:
    answer = server.kubectl("auth", "can-i", *what.split(), f"--as={who}", "-n", namespace, check=False)
    return answer.startswith("yes")


def overlay(programs: Programs, base: str, folder: Path, **fields: object) -> Sequence[dict[str, Any]]:
    """What kustomize makes of an overlay on one of the installs."""
    resources = [os.path.relpath(DEPLOY / base, folder)]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": resources, **fields}))
    built = subprocess.run([programs.kubectl, "kustomize", str(folder)], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(built.stdout))


def of_kind(objects: Sequence[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] in kinds]


@pytest.mark.parametrize("base", ["kustomize", "namespaced"])
def test_an_overlay_with_another_namespace_binds_the_service_account_that_it_creates(
    programs: Programs, tmp_path: Path, base: str
) -> None:
    objects = overlay(programs, base, tmp_path, namespace="team-b")

    placed = of_kind(objects, "ServiceAccount", "Deployment")
    bindings = of_kind(objects, "RoleBinding", "ClusterRoleBinding")
    subject = {"kind": "ServiceAccount", "name": "qtj-operator", "namespace": "team-b"}
    assert [each["metadata"]["namespace"] for each in placed] == ["team-b"] * 2
    assert [each["subjects"] for each in bindings] == [[subject]] * 2


def test_an_operator_with_the_rights_of_one_namespace_runs_the_example(namespaced: ApiServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=namespaced.url, token=OPERATOR_TOKEN))

    with running(replace(namespaced, kubeconfig=kubeconfig), "quantum", tmp_path, "--lease-namespace=quantum"):
        namespaced.kubectl("apply", "-n", "quantum", "-f", str(EXAMPLE))

        wait_until(lambda: namespaced.names("pods", "quantum") == list(WORKERS), SOON, "the pods")
        assert namespaced.get("qtj", "qcnn", "-n", "quantum")["status"]["attempt"] == 1
        assert namespaced.names("leases", "quantum") == ["qtj-operator"]
    namespaced.kubectl("delete", "qtj", "qcnn", "-n", "quantum")


@pytest.mark.parametrize("what", OURS)
def test_one_namespace_means_one_namespace(namespaced: ApiServer, what: str) -> None:
    assert may(namespaced, OPERATOR, what, "quantum")
    assert not may(namespaced, OPERATOR, what, "default")


@pytest.mark.parametrize("what", OURS)
def test_the_operator_of_a_cluster_does_its_work_everywhere(api_server: ApiServer, what: str) -> None:
    api_server.kubectl("apply", "-k", str(DEPLOY / "kustomize"))

    assert may(api_server, CLUSTER_WIDE, what, "default")


@pytest.mark.parametrize(
    "what",
    [
        "get secrets",
        "create secrets",
        "update quantumtrainingjobs",
        "patch quantumtrainingstudies",
        "create pods --subresource=exec",
    ],
)
@pytest.mark.parametrize("who", [OPERATOR, CLUSTER_WIDE])
def test_nobody_reads_secrets_or_replaces_what_users_wrote(namespaced: ApiServer, who: str, what: str) -> None:
    namespaced.kubectl("apply", "-k", str(DEPLOY / "kustomize"))

    assert not may(namespaced, who, what, who.split(":")[2])


@pytest.mark.parametrize(
    ("role", "allowed", "refused"),
    [
        ("view", ("get", "list", "watch"), ("create", "update", "patch", "delete", "deletecollection")),
        ("edit", ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"), ()),
    ],
)
def test_users_have_roles_of_their_own_and_none_writes_a_status(
    api_server: ApiServer, namespace: str, role: str, allowed: Sequence[str], refused: Sequence[str]
) -> None:
    api_server.kubectl("apply", "-k", str(DEPLOY / "users"))
    api_server.kubectl("create", "rolebinding", role, f"--clusterrole=qtj-{role}", "--user=jane", "-n", namespace)

    can = {verb for verb in (*allowed, *refused) if may(api_server, "jane", f"{verb} qtj", namespace)}
    assert can == set(allowed)
    assert not may(api_server, "jane", "update qtj --subresource=status", namespace)


@pytest.mark.parametrize(("role", "into"), [("qtj-view", {"view", "edit", "admin"}), ("qtj-edit", {"edit", "admin"})])
def test_users_roles_join_those_that_every_cluster_has(
    programs: Programs, tmp_path: Path, role: str, into: set[str]
) -> None:
    roles = of_kind(overlay(programs, "kustomize", tmp_path), "ClusterRole")

    (labels,) = [each["metadata"]["labels"] for each in roles if each["metadata"]["name"] == role]
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    assert {label.removeprefix(prefix) for label, on in labels.items() if on == "true"} == into


def test_the_install_of_one_namespace_needs_no_rights_on_the_cluster(programs: Programs, tmp_path: Path) -> None:
    objects = overlay(programs, "namespaced", tmp_path)

    assert {each["metadata"].get("namespace") for each in objects} == {"quantum"}


@pytest.mark.parametrize("base", ["kustomize", "namespaced"])
def test_the_right_to_see_nodes_can_be_added_to_both_installs(
    api_server: ApiServer, programs: Programs, tmp_path: Path, base: str
) -> None:
    component = os.path.relpath(DEPLOY / "node-reader", tmp_path)
    objects = overlay(programs, base, tmp_path, namespace="team-c", components=[component])

    for each in of_kind(objects, "ClusterRole", "ClusterRoleBinding"):
        if each["metadata"]["name"] == "qtj-operator-nodes":
            api_server.kubectl("apply", "-f", "-", manifest=each)
    operator = "system:serviceaccount:team-c:qtj-operator"
    assert may(api_server, operator, "get nodes", "default")
    assert not any(may(api_server, operator, f"{verb} nodes", "default") for verb in ("list", "update", "delete"))
    api_server.kubectl("delete", "clusterrole,clusterrolebinding", "qtj-operator-nodes")


@pytest.mark.parametrize("base", ["kustomize", "namespaced"])
def test_a_drain_leaves_an_operator_and_both_are_apart(programs: Programs, tmp_path: Path, base: str) -> None:
    objects = overlay(programs, base, tmp_path)

    (budget,), (deployment,) = of_kind(objects, "PodDisruptionBudget"), of_kind(objects, "Deployment")
    pod = deployment["spec"]["template"]
    (spread,) = pod["spec"]["topologySpreadConstraints"]
    labels = {"app.kubernetes.io/name": "qtj-operator"}
    assert budget["spec"]["selector"]["matchLabels"] == spread["labelSelector"]["matchLabels"] == labels
    assert pod["metadata"]["labels"] == labels
    assert (budget["spec"]["maxUnavailable"], deployment["spec"]["replicas"]) == (1, 2)


def test_the_api_server_takes_the_network_policies(api_server: ApiServer, namespace: str) -> None:
    folder = str(DEPLOY / "network")
    answer = api_server.kubectl("apply", "-n", namespace, "--dry-run=server", "--validate=strict", "-k", folder)

    assert answer.count("created (server dry run)") == 4


def test_alerts_ask_for_metrics_that_there_are(programs: Programs, tmp_path: Path) -> None:
    jobs = Jobs()
    long_ago = utc_now() - timedelta(hours=1)
    jobs["team", "waits"].since = long_ago
    studies = {("team", "waits"): StudyMemory(StudyPhase.RUNNING, StudyReason.TRIAL_REJECTED, long_ago)}
    metrics = Metrics(jobs=jobs, studies=studies)
    metrics.resynced()
    with metrics.timed():
        pass
    exposed = set(re.findall(r"^(qtj_\w+)", generate_latest(metrics.registry).decode(), re.MULTILINE))
    exposed |= {f"qtj_training_{field.name}" for field in fields(Progress)}
    (rules,) = of_kind(overlay(programs, "monitoring", tmp_path), "PrometheusRule")

    asked = [rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]]
    assert set(re.findall(r"qtj_\w+", " ".join(asked))) <= exposed
    assert len(asked) == 10
