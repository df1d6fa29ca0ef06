"""One release for a list of namespaces: rights, policies and monitoring in these alone."""

from tests.controller.test_install import of_kind
from tests.deploy.chart import Helm, Json

TEAMS = ["team-a", "team-b", "team-c"]


def objects(helm: Helm, namespace: str = "qtj-system", **values: object) -> list[Json]:
    return helm.render({"crds": {"install": False}, "watchNamespace": TEAMS, **values}, namespace)


def namespaces(found: list[Json]) -> list[str | None]:
    return [each["metadata"].get("namespace") for each in found]


def test_each_namespace_has_the_rights_of_the_cluster_role_and_nothing_has_them_for_the_cluster(helm: Helm) -> None:
    found = objects(helm)
    (cluster_wide,) = (
        each
        for each in of_kind(helm.render({"crds": {"install": False}}), "ClusterRole")
        if each["metadata"]["name"] == "qtj-operator"
    )

    roles = [each for each in of_kind(found, "Role") if each["metadata"]["name"] == "qtj-operator"]
    assert namespaces(roles) == TEAMS
    assert [each["rules"] for each in roles] == [cluster_wide["rules"]] * 3
    bindings = [each for each in of_kind(found, "RoleBinding") if each["metadata"]["name"] == "qtj-operator"]
    assert namespaces(bindings) == TEAMS
    assert {each["roleRef"]["kind"] for each in bindings} == {"Role"}
    subject = {"kind": "ServiceAccount", "name": "qtj-operator", "namespace": "qtj-system"}
    assert [each["subjects"] for each in bindings] == [[subject]] * 3
    assert of_kind(found, "ClusterRoleBinding") == []
    assert {each["metadata"]["name"] for each in of_kind(found, "ClusterRole")} == {"qtj-view", "qtj-edit"}


def test_the_operator_is_told_each_namespace_and_its_lease_stays_in_its_own(helm: Helm) -> None:
    found = objects(helm)

    (pods,) = of_kind(found, "Deployment")
    args = pods["spec"]["template"]["spec"]["containers"][0]["args"]
    assert [each for each in args if each.startswith("--namespace")] == [f"--namespace={name}" for name in TEAMS]
    assert "--lease-namespace=$(NAMESPACE)" in args
    lease = [each for each in of_kind(found, "Role", "RoleBinding") if each["metadata"]["name"] == "qtj-operator-lease"]
    assert namespaces(lease) == [None, None]


def test_each_namespace_has_the_network_policies_once(helm: Helm) -> None:
    found = objects(helm, networkPolicy={"jobNamespaces": ["team-b", "team-z"]})

    policies = [each for each in of_kind(found, "NetworkPolicy") if each["metadata"]["name"] == "quantumtrainingjobs"]
    assert sorted(namespaces(policies), key=str) == [None, "team-a", "team-b", "team-c", "team-z"]


def test_trainings_of_other_namespaces_are_not_scraped_and_other_operators_hide_no_alert(helm: Helm) -> None:
    found = objects(helm, monitoring={"enabled": True})

    (trainers,), (alerts,) = of_kind(found, "PodMonitor"), of_kind(found, "PrometheusRule")
    assert trainers["spec"]["namespaceSelector"] == {"matchNames": TEAMS}
    assert 'absent(qtj_leader{job="qtj-operator", namespace="qtj-system"})' in str(alerts)


def test_with_the_scope_of_a_namespace_nothing_is_cluster_wide(helm: Helm) -> None:
    found = objects(helm, scope="Namespace")

    assert of_kind(found, "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition") == []
    assert namespaces([each for each in of_kind(found, "Role") if each["metadata"]["name"] == "qtj-operator"]) == TEAMS


def test_the_namespace_of_the_release_may_be_one_of_them(helm: Helm) -> None:
    found = objects(helm, namespace="team-a")

    policies = [each for each in of_kind(found, "NetworkPolicy") if each["metadata"]["name"] == "quantumtrainingjobs"]
    assert namespaces(policies) == [None, "team-b", "team-c"]


def test_operators_of_several_lists_have_cluster_wide_objects_of_their_own(helm: Helm) -> None:
    found = objects(helm, nodeReader={"create": True}, priorityLevel={"create": True})

    names = {each["metadata"]["name"] for each in of_kind(found, "ClusterRoleBinding", "FlowSchema")}
    assert names == {"qtj-operator-nodes-qtj-system", "qtj-operator-requests-qtj-system"}
