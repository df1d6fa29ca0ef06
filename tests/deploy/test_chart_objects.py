"""`deploy/helm` renders the objects of the kustomizations."""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controller.test_install import of_kind, overlay
from tests.deploy.chart import DEPLOY, Helm, Json, by_name
from tools.api_server import Programs

LABELS = {"app.kubernetes.io/name", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"}
ON = {"enabled": True}


@dataclass(frozen=True)
class Install:
    """One way to install, with kustomize and with Helm."""

    bases: Sequence[str]
    namespace: str
    values: Mapping[str, object]


INSTALLS = (
    Install(["kustomize"], "qtj-system", {}),
    Install(["kustomize"], "team-b", {}),
    Install(["namespaced"], "quantum", {"scope": "Namespace"}),
    Install(["kustomize", "monitoring"], "qtj-system", {"monitoring": ON}),
    Install(["kustomize", "priority"], "qtj-system", {"priorityLevel": {"create": True}}),
)


def kustomized(programs: Programs, folder: Path, bases: Sequence[str], namespace: str, *parts: str) -> list[Json]:
    """What kustomize makes of an overlay on each of the folders."""
    components = [os.path.relpath(DEPLOY / part, folder) for part in parts]
    first, *others = bases
    return [
        *overlay(programs, first, folder, namespace=namespace, components=components),
        *(each for base in others for each in overlay(programs, base, folder, namespace=namespace)),
    ]


def of_helm(objects: Sequence[Json], namespace: str) -> list[Json]:
    """What the chart is to render in place of the objects of kustomize: every difference that is allowed.

    Helm creates the namespace of a release (`--create-namespace`) and puts objects without a namespace there.
    """
    return [_unlabelled(_kept(_unplaced(each, namespace))) for each in deepcopy(objects) if each["kind"] != "Namespace"]


def _unplaced(one: Json, namespace: str) -> Json:
    if one["metadata"].get("namespace") == namespace:
        del one["metadata"]["namespace"]
    return one


def _kept(one: Json) -> Json:
    """`helm uninstall` leaves the CRD, and with it all jobs."""
    if one["kind"] == "CustomResourceDefinition":
        one["metadata"]["annotations"] |= {"helm.sh/resource-policy": "keep"}
    return one


def _unlabelled(one: Json) -> Json:
    """Each chart has labels of its own on all objects; no selector uses those of the objects that differ."""
    labels = {key: value for key, value in one["metadata"].pop("labels", {}).items() if key not in LABELS}
    if labels:
        one["metadata"]["labels"] = labels
    return one


def assert_same(chart: Sequence[Json], kustomize: Sequence[Json], namespace: str) -> None:
    rendered = by_name([_unlabelled(deepcopy(each)) for each in chart])
    wanted = by_name(of_helm(kustomize, namespace))
    assert set(rendered) == set(wanted)
    for name, one in wanted.items():
        assert rendered[name] == one, name


@pytest.mark.parametrize("install", INSTALLS, ids=lambda install: "+".join(install.bases) + " in " + install.namespace)
def test_the_chart_renders_what_kustomize_builds(
    helm: Helm, programs: Programs, tmp_path: Path, install: Install
) -> None:
    objects = kustomized(programs, tmp_path, install.bases, install.namespace)

    assert_same(helm.render(install.values, install.namespace), objects, install.namespace)


def test_each_alert_has_the_address_of_its_runbook_where_the_docs_are_published(helm: Helm) -> None:
    values = {"monitoring": {**ON, "docsUrl": "https://docs.example/qtj/"}}
    (alerts,) = of_kind(helm.render(values, "quantum"), "PrometheusRule")

    addresses = [rule["annotations"]["runbook_url"] for group in alerts["spec"]["groups"] for rule in group["rules"]]
    assert len(addresses) == len(set(addresses))
    assert {each.partition("#")[0] for each in addresses} == {"https://docs.example/qtj/operations/alerts.md"}


def test_the_monitoring_of_one_namespace_leaves_others_alone(helm: Helm, programs: Programs, tmp_path: Path) -> None:
    objects = kustomized(programs, tmp_path, ["namespaced", "monitoring"], "quantum")
    (trainers,), (alerts,) = of_kind(objects, "PodMonitor"), of_kind(objects, "PrometheusRule")
    assert trainers["spec"].pop("namespaceSelector") == {"any": True}
    nobody = next(rule for rule in alerts["spec"]["groups"][0]["rules"] if "absent" in rule["expr"])
    nobody["expr"] = nobody["expr"].replace(
        'absent(qtj_leader{job="qtj-operator"', 'absent(qtj_leader{job="qtj-operator", namespace="quantum"'
    )

    values = {"scope": "Namespace", "monitoring": ON}
    assert_same(helm.render(values, "quantum"), objects, "quantum")


def test_the_right_to_read_nodes_is_that_of_the_component(helm: Helm, programs: Programs, tmp_path: Path) -> None:
    objects = kustomized(programs, tmp_path, ["kustomize"], "qtj-system", "node-reader")

    assert_same(helm.render({"nodeReader": {"create": True}}), objects, "qtj-system")


def test_operators_of_two_namespaces_have_rights_on_nodes_of_their_own(helm: Helm) -> None:
    values = {"scope": "Namespace", "nodeReader": {"create": True}}

    role, binding = of_kind(helm.render(values, "team-b"), "ClusterRole", "ClusterRoleBinding")
    assert role["metadata"]["name"] == binding["metadata"]["name"] == "qtj-operator-nodes-team-b"
    assert binding["roleRef"]["name"] == "qtj-operator-nodes-team-b"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "qtj-operator", "namespace": "team-b"}]


def test_operators_of_two_namespaces_have_a_share_of_the_api_server_each(helm: Helm) -> None:
    values = {"scope": "Namespace", "priorityLevel": {"create": True}}

    schema, level = of_kind(helm.render(values, "team-b"), "FlowSchema", "PriorityLevelConfiguration")
    assert schema["metadata"]["name"] == level["metadata"]["name"] == "qtj-operator-requests-team-b"
    assert schema["spec"]["priorityLevelConfiguration"]["name"] == level["metadata"]["name"]
    account = schema["spec"]["rules"][0]["subjects"][0]["serviceAccount"]
    assert account == {"name": "qtj-operator", "namespace": "team-b"}


def test_namespaces_of_jobs_get_the_policies_of_deploy_network(helm: Helm, programs: Programs, tmp_path: Path) -> None:
    there = kustomized(programs, tmp_path, ["network"], "team-a")

    objects = helm.render({"networkPolicy": {"jobNamespaces": ["team-a", "qtj-system"]}})
    placed = [each for each in objects if each["metadata"].get("namespace") == "team-a"]
    assert_same([_unplaced(each, "team-a") for each in placed], there, "team-a")
    assert len(of_kind(objects, "NetworkPolicy")) - len(placed) == len(of_kind(helm.render({}), "NetworkPolicy")) == 4


def test_the_network_policies_name_the_namespaces_and_the_port_of_the_values(helm: Helm) -> None:
    values = {"jobNamespaces": ["team-a"], "prometheusNamespace": "qtj-system", "profilerPort": 9999}
    objects = helm.render({"networkPolicy": values}, "operators")

    rules = [rule for each in of_kind(objects, "NetworkPolicy") for rule in each["spec"]["ingress"]]
    ports = {port["port"] for rule in rules for port in rule.get("ports", ())}
    peers = [
        peer["namespaceSelector"] for rule in rules for peer in rule.get("from", ()) if "namespaceSelector" in peer
    ]
    names = [peer["matchLabels"]["kubernetes.io/metadata.name"] for peer in peers]
    assert ports == {2224, 6006, 8080, 9999}
    assert sorted(names) == ["operators", "qtj-system", "qtj-system", "qtj-system"]


def test_network_policies_can_be_left_out(helm: Helm) -> None:
    assert of_kind(helm.render({"networkPolicy": {"enabled": False}}), "NetworkPolicy") == []


def test_every_object_has_the_labels_of_the_chart(helm: Helm) -> None:
    objects = helm.render(
        {
            "nodeReader": {"create": True},
            "monitoring": ON,
            "priorityClass": {"name": "training", "create": True},
            "priorityLevel": {"create": True},
            "networkPolicy": {"jobNamespaces": ["team-a"]},
        }
    )

    assert len(objects) > 15
    assert [one["metadata"]["name"] for one in objects if not set(one["metadata"]["labels"]) >= LABELS] == []


def test_a_difference_between_chart_and_kustomize_is_found(helm: Helm, programs: Programs, tmp_path: Path) -> None:
    objects = kustomized(programs, tmp_path, ["kustomize"], "qtj-system")

    with pytest.raises(AssertionError, match="Deployment"):
        assert_same(helm.render({"replicas": 3}), objects, "qtj-system")
