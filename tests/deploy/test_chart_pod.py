"""Settings of the operator's pod, with the names that the charts of other operators have for them."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.controller.test_install import of_kind
from tests.deploy.chart import Helm, Json

SELECTED = {"app.kubernetes.io/name": "qtj-operator"}
AFFINITY: Json = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
SPREAD = [{"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"}]


def objects(helm: Helm, **values: object) -> list[Json]:
    return helm.render({"crds": {"install": False}, **values})


def deployment(helm: Helm, **values: object) -> Json:
    (found,) = of_kind(objects(helm, **values), "Deployment")
    return found


def test_each_value_reaches_the_pod(helm: Helm) -> None:
    values: Mapping[str, Any] = {
        "affinity": AFFINITY,
        "topologySpreadConstraints": SPREAD,
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "extraArgs": ["--verbose", "--port=9"],
        "logLevel": "error",
        "labelKeysToCopy": ["cost-center", "example.com/"],
        "livenessProbe": {"failureThreshold": 9, "periodSeconds": 20},
        "readinessProbe": {"timeoutSeconds": 7},
    }
    spec = deployment(helm, **values)["spec"]["template"]["spec"]
    (container,) = spec["containers"]

    assert spec["affinity"] == AFFINITY
    assert spec["topologySpreadConstraints"] == SPREAD
    assert [each["name"] for each in container["env"]] == ["NAMESPACE", "HTTPS_PROXY"]
    assert container["env"][1:] == values["env"]
    assert container["args"][-5:] == [
        *("--log-level=error", "--copy-label=cost-center", "--copy-label=example.com/"),
        *values["extraArgs"],
    ]
    probed = {"path": "/healthz", "port": "http"}
    assert container["livenessProbe"] == {"httpGet": probed, "failureThreshold": 9, "periodSeconds": 20}
    ready = {"path": "/readyz", "port": "http"}
    assert container["readinessProbe"] == {"httpGet": ready, "timeoutSeconds": 7, "periodSeconds": 2}


def test_a_field_of_a_security_context_is_replaced_and_null_removes_it(helm: Helm) -> None:
    found = deployment(
        helm,
        podSecurityContext={"runAsUser": 10001, "runAsNonRoot": None},
        securityContext={"readOnlyRootFilesystem": False},
    )["spec"]["template"]["spec"]

    assert found["securityContext"] == {"runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    assert found["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": False,
    }


def test_common_labels_are_on_every_object_and_on_the_pods_and_in_no_selector(helm: Helm) -> None:
    found = objects(
        helm,
        commonLabels={"cost-center": "platform", "team": "a"},
        podLabels={"team": "b"},
        networkPolicy={"jobNamespaces": ["team-a"]},
        monitoring={"enabled": True},
        nodeReader={"create": True},
    )
    (one,) = of_kind(found, "Deployment")

    assert [each["metadata"]["name"] for each in found if each["metadata"]["labels"].get("team") != "a"] == []
    assert one["spec"]["template"]["metadata"]["labels"] == SELECTED | {"cost-center": "platform", "team": "b"}
    assert one["spec"]["selector"]["matchLabels"] == SELECTED
    assert "cost-center" not in str([each["spec"] for each in found if each["kind"] != "Deployment" and "spec" in each])


def test_a_service_account_has_its_name_and_annotations_and_each_binding_names_it(helm: Helm) -> None:
    annotations = {"iam.gke.io/gcp-service-account": "x@y.iam.gserviceaccount.com"}
    account = {"name": "qtj-operator-own", "annotations": annotations}
    found = objects(helm, serviceAccount=account, nodeReader={"create": True}, priorityLevel={"create": True})

    (made,) = of_kind(found, "ServiceAccount")
    assert (made["metadata"]["name"], made["metadata"]["annotations"]) == ("qtj-operator-own", annotations)
    bindings = of_kind(found, "RoleBinding", "ClusterRoleBinding")
    assert len(bindings) == 3
    assert {subject["name"] for each in bindings for subject in each["subjects"]} == {"qtj-operator-own"}
    (schema,) = of_kind(found, "FlowSchema")
    limited = schema["spec"]["rules"][0]["subjects"][0]["serviceAccount"]
    assert limited == {"name": "qtj-operator-own", "namespace": "qtj-system"}
    (pods,) = of_kind(found, "Deployment")
    assert pods["spec"]["template"]["spec"]["serviceAccountName"] == "qtj-operator-own"


def test_a_service_account_of_somebody_else_is_used_and_not_created(helm: Helm) -> None:
    found = objects(helm, serviceAccount={"create": False, "name": "theirs"})

    assert of_kind(found, "ServiceAccount") == []
    assert {each["subjects"][0]["name"] for each in of_kind(found, "RoleBinding", "ClusterRoleBinding")} == {"theirs"}


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"fullnameOverride": "quantum"}, "quantum"),
        ({"nameOverride": "jobs"}, "qtj-operator-jobs"),
        ({"nameOverride": "operator"}, "qtj-operator"),
        ({"nameOverride": "jobs", "fullnameOverride": "quantum"}, "quantum"),
    ],
)
def test_names_change_and_labels_and_selectors_stay(helm: Helm, values: Mapping[str, str], name: str) -> None:
    more = {"nodeReader": {"create": True}, "priorityLevel": {"create": True}, "monitoring": {"enabled": True}}
    found = objects(helm, **more, **values)

    ours = [each for each in found if not each["metadata"]["name"].startswith(("qtj-view", "qtj-edit", "quantumtrain"))]
    others = {"qtj-dashboard", "qtj-trainers"}
    assert {each["metadata"]["name"] for each in ours} - others == {
        *(name, f"{name}-lease", f"{name}-nodes", f"{name}-requests"),
    }
    for each in of_kind(found, "RoleBinding", "ClusterRoleBinding"):
        assert each["roleRef"]["name"] == each["metadata"]["name"]
        assert each["subjects"][0]["name"] == name
    (lease,) = of_kind(found, "Role")
    assert lease["rules"][1]["resourceNames"] == ["qtj-operator"]
    (service, pods) = (*of_kind(found, "Service"), *of_kind(found, "Deployment"))
    assert service["spec"]["selector"] == pods["spec"]["selector"]["matchLabels"] == SELECTED
    (alerts,) = of_kind(found, "PrometheusRule")
    assert f'qtj_leader{{job="{name}"}}' in str(alerts)
    (level,) = of_kind(found, "FlowSchema")
    assert level["spec"]["priorityLevelConfiguration"]["name"] == f"{name}-requests"


@pytest.mark.parametrize("most", [0, 2, "50%"])
def test_a_disruption_budget_says_how_many_may_be_evicted(helm: Helm, most: int | str) -> None:
    (budget,) = of_kind(objects(helm, podDisruptionBudget={"maxUnavailable": most}), "PodDisruptionBudget")

    assert budget["spec"]["maxUnavailable"] == most


def test_a_disruption_budget_can_be_left_out(helm: Helm) -> None:
    assert of_kind(objects(helm, podDisruptionBudget={"enabled": False}), "PodDisruptionBudget") == []
