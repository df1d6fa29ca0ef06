"""The settings of the chart: each does what it says, and a wrong one is refused with a sentence."""

import json
from collections.abc import Iterator, Mapping

import pytest
import yaml

from tests.controller.test_install import of_kind
from tests.deploy.chart import CHART, Helm, Json
from tools.release.version import VERSION

EVERYTHING = {
    "imagePullSecrets": [{"name": "registry"}],
    "replicas": 3,
    "nodeReader": {"create": True},
    "priorityClass": {"name": "training-operator", "create": True},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "podLabels": {"team": "a"},
    "podAnnotations": {"note": "b"},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {"jobNamespaces": ["team-a", "team-b"]},
}


def deployment(helm: Helm, values: Mapping[str, object]) -> Json:
    (found,) = of_kind(helm.render(values), "Deployment")
    return found


@pytest.mark.parametrize("values", [{}, {"scope": "Namespace"}, EVERYTHING], ids=["default", "namespace", "everything"])
def test_helm_lint_finds_nothing(helm: Helm, values: Mapping[str, object]) -> None:
    ended = helm.lint(values)

    assert ended.returncode == 0, ended.stdout
    assert "0 chart(s) failed" in ended.stdout


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"replicas": 0}, "at '/replicas': minimum: got 0, want 1"),
        ({"replicas": "two"}, "at '/replicas': got string, want integer"),
        ({"scope": "namespaced"}, "at '/scope': value must be one of 'Cluster', 'Namespace'"),
        ({"replcas": 3}, "additional properties 'replcas' not allowed"),
        ({"crds": {"instal": False}}, "at '/crds': additional properties 'instal' not allowed"),
        ({"image": {"repository": "https://registry/qtj"}}, "at '/image/repository': 'https://registry/qtj' does not"),
        ({"image": {"tag": 1.0}}, "at '/image/tag': got number, want string"),
        ({"priorityClass": {"create": True}}, "at '/priorityClass/name': minLength: got 0, want 1"),
        ({"podLabels": {"app.kubernetes.io/name": "x"}}, "at '/podLabels/app.kubernetes.io~1name': false schema"),
        ({"monitoring": {"labels": {"release": 1}}}, "at '/monitoring/labels/release': got number, want string"),
        ({"networkPolicy": {"jobNamespaces": ["Team A"]}}, "at '/networkPolicy/jobNamespaces/0': 'Team A' does not"),
        ({"networkPolicy": {"profilerPort": 70000}}, "at '/networkPolicy/profilerPort': maximum: got 70,000"),
        ({"scope": None}, "missing property 'scope'"),
        ({"watchNamespace": "team-a"}, "at '/watchNamespace': got string, want array"),
        ({"fullnameOverride": "Lab"}, "at '/fullnameOverride': 'Lab' does not match pattern"),
        ({"commonLabels": {"app.kubernetes.io/name": "x"}}, "at '/commonLabels/app.kubernetes.io~1name': false schema"),
        ({"labelKeysToCopy": ["kueue.x-k8s.io/queue-name"]}, "at '/labelKeysToCopy/0': 'not' failed"),
        ({"env": [{"name": "NAMESPACE", "value": "x"}]}, "at '/env/0/name': 'not' failed"),
        ({"logLevel": "debug"}, "at '/logLevel': value must be one of 'info', 'warning', 'error'"),
        ({"serviceAccount": {"create": False}}, "at '/serviceAccount/name': minLength: got 0, want 1"),
        ({"livenessProbe": {"httpGet": {}}}, "at '/livenessProbe': additional properties 'httpGet' not allowed"),
        ({"podDisruptionBudget": {"maxUnavailable": "half"}}, "at '/podDisruptionBudget/maxUnavailable'"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(helm: Helm, values: Mapping[str, object], sentence: str) -> None:
    assert sentence in helm.refusal(values)


def test_an_older_kubernetes_is_refused(helm: Helm) -> None:
    ended = helm.run("template", "x", str(CHART), "--kube-version=1.29.9")

    assert "kubeVersion: >=1.30.0-0 which is incompatible with Kubernetes v1.29.9" in ended.stderr


def test_the_schema_knows_every_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    of_parent_charts = {"global", "enabled"}
    assert set(_described(schema)) == of_parent_charts | set(_written(values))


OF_THE_USER = {
    *("resources.requests", "resources.limits", "podSecurityContext", "securityContext"),
    *("livenessProbe", "readinessProbe"),
}
"""What is below these is Kubernetes's: the schema of the chart does not name each field."""


def _described(schema: Json, place: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        if inner is False:  # refused
            continue
        yield place + name
        yield from _described(inner, f"{place}{name}.")


def _written(values: Json, place: str = "") -> Iterator[str]:
    for name, inner in values.items():
        yield place + name
        if isinstance(inner, dict) and place + name not in OF_THE_USER:
            yield from _written(inner, f"{place}{name}.")


def test_the_image_has_the_version_of_the_chart_unless_a_tag_is_given(helm: Helm) -> None:
    def image(values: Mapping[str, object]) -> object:
        return deployment(helm, {"image": values})["spec"]["template"]["spec"]["containers"][0]["image"]

    assert image({}) == f"localhost/qtj-operator:{VERSION}"
    assert image({"repository": "registry:5000/a/b", "tag": "1e3"}) == "registry:5000/a/b:1e3"


def test_settings_of_the_pod_reach_the_deployment(helm: Helm) -> None:
    found = deployment(helm, {**EVERYTHING, "image": {"pullPolicy": "Always"}, "logFormat": "plain"})
    pod = found["spec"]["template"]
    (container,) = pod["spec"]["containers"]

    assert found["spec"]["replicas"] == 3
    assert pod["metadata"]["labels"] == {"app.kubernetes.io/name": "qtj-operator", "team": "a"}
    assert pod["metadata"]["annotations"] == {"note": "b"}
    assert pod["spec"]["priorityClassName"] == "training-operator"
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert pod["spec"]["tolerations"] == [{"key": "infra", "operator": "Exists"}]
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert container["imagePullPolicy"] == "Always"
    assert "--log-format=plain" in container["args"]


def test_a_number_is_no_name_of_a_class(helm: Helm) -> None:
    found = deployment(helm, {"priorityClass": {"name": "123"}})

    assert found["spec"]["template"]["spec"]["priorityClassName"] == "123"


def test_a_priority_class_of_the_cluster_is_used_and_not_created(helm: Helm) -> None:
    objects = helm.render({"priorityClass": {"name": "system-cluster-critical"}})

    assert of_kind(objects, "PriorityClass") == []
    (own,) = of_kind(helm.render(EVERYTHING), "PriorityClass")
    assert (own["metadata"]["name"], own["value"]) == ("training-operator", 1000000)


def test_what_prometheus_selects_by_is_on_what_it_reads(helm: Helm) -> None:
    found = of_kind(helm.render(EVERYTHING), "ServiceMonitor", "PodMonitor", "PrometheusRule")

    assert [one["metadata"]["labels"]["release"] for one in found] == ["prometheus"] * 3


def test_the_crd_and_the_roles_of_users_can_be_left_out(helm: Helm) -> None:
    objects = helm.render({"crds": {"install": False}, "users": {"create": False}})

    assert of_kind(objects, "CustomResourceDefinition") == []
    assert [one["metadata"]["name"] for one in of_kind(objects, "ClusterRole")] == ["qtj-operator"]
