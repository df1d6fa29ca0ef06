"""The variables of a container: as Kubernetes computes them, and messages if it would not."""

from typing import Any

import pytest

from qtj.local.variables import CannotStartError, as_text, expanded, group_address, variables_of

CONFIGS = {("ConfigMap", "colors"): {"sky": "blue", "depth": "5"}, ("Secret", "keys"): {"door": "1234"}}
POD = {
    "metadata": {
        "name": "toy-worker-0",
        "namespace": "lab",
        "labels": {"team": "blue", "app.kubernetes.io/name": "toy"},
        "annotations": None,
        "uid": "uid-1",
    },
    "spec": {"nodeName": "laptop", "containers": []},
    "status": {"phase": "Pending"},
}


def variables(*env: dict[str, Any], replaced: dict[str, str] | None = None, **container: Any) -> dict[str, str]:
    named = {"name": "trainer", "env": list(env), **container}
    return variables_of(POD, named, CONFIGS, replaced or {}, lambda text: text.replace("toy.svc", "127.0.0.1"))


def of_pod(path: str) -> str:
    return variables({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}})["X"]


def refusal(*env: dict[str, Any], **container: Any) -> CannotStartError:
    with pytest.raises(CannotStartError) as refused:
        variables(*env, **container)
    return refused.value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "toy-worker-0"),
        ("metadata.namespace", "lab"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['team']", "blue"),
        ("metadata.labels['app.kubernetes.io/name']", "toy"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "laptop"),
        ("spec.serviceAccountName", ""),
        ("spec.nodeName.deeper", ""),
        ("status.phase", "Pending"),
        ("status.podIP", "127.0.0.1"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_the_pod_says_what_the_downward_api_would(path: str, value: str) -> None:
    assert of_pod(path) == value


def test_a_limit_is_no_news_here() -> None:
    assert variables({"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}) == {"X": ""}


def test_a_number_where_a_text_belongs_is_taken_for_one() -> None:
    assert variables({"name": "SEED", "value": 7}, {"name": "NONE"}) == {"SEED": "7", "NONE": ""}
    assert variables({"name": "D", "valueFrom": {"configMapKeyRef": {"name": "colors", "key": "depth"}}}) == {"D": "5"}
    assert (as_text(None), as_text(0), as_text("x")) == ("", "0", "x")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$(A)$(B)", "12"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$(NONE)", "$(NONE)"), ("$A", "$A"), ("$()", "$()"),
        ("$(A", "$(A"), ("cost $5", "cost $5"), ("$((A))", "$((A))"),
    ],
)  # fmt: skip
def test_references_are_expanded_as_kubernetes_does(text: str, value: str) -> None:
    assert expanded(text, {"A": "1", "B": "2"}) == value


def test_a_variable_refers_to_earlier_ones_and_to_those_of_configmaps() -> None:
    found = variables(
        {"name": "B", "value": "$(A) $(sky)"}, {"name": "A", "value": "1"}, {"name": "C", "value": "$(A)"},
        envFrom=[{"configMapRef": {"name": "colors"}}],
    )  # fmt: skip

    assert (found["B"], found["C"]) == ("$(A) blue", "1")


def test_a_later_source_and_a_variable_of_the_container_win() -> None:
    found = variables(
        {"name": "door", "value": "mine"},
        envFrom=[{"configMapRef": {"name": "colors"}}, {"secretRef": {"name": "keys"}, "prefix": ""}],
    )

    assert found == {"sky": "blue", "depth": "5", "door": "mine"}


def test_a_prefix_is_put_before_every_key() -> None:
    found = variables(envFrom=[{"secretRef": {"name": "keys"}, "prefix": "MY_"}])

    assert found == {"MY_door": "1234"}


def test_addresses_of_the_cluster_are_rewritten_and_some_variables_replaced() -> None:
    found = variables(
        {"name": "URL", "value": "http://toy.svc:80"}, {"name": "QTJ_PORT", "value": "9090"},
        replaced={"QTJ_PORT": "20001", "OTHER": "1"},
    )  # fmt: skip

    assert found == {"URL": "http://127.0.0.1:80", "QTJ_PORT": "20001"}


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ({"configMapKeyRef": {"name": "colors", "key": "sea"}}, "key sea of the ConfigMap colors"),
        ({"secretKeyRef": {"name": "keys", "key": "safe"}}, "key safe of the Secret keys"),
        ({"configMapKeyRef": {"name": "none", "key": "sea"}}, "ConfigMap none"),
        ({"secretKeyRef": {"name": "colors", "key": "sky"}}, "Secret colors"),
    ],
)
def test_what_is_missing_is_named(source: dict[str, Any], what: str) -> None:
    refused = refusal({"name": "X", "valueFrom": source})

    assert str(refused) == f"{what} does not exist: write it into the same file, or make it optional"
    assert refused.reason == "CreateContainerConfigError"


@pytest.mark.parametrize("source", [{"configMapRef": {"name": "none"}}, {"secretRef": {"name": "none"}}])
def test_a_source_of_many_that_is_missing_is_named(source: dict[str, Any]) -> None:
    assert " none does not exist: write it into the same file" in str(refusal(envFrom=[source]))


@pytest.mark.parametrize("name", ["none", "colors"])
def test_what_is_optional_and_missing_is_left_out(name: str) -> None:
    reference = {"name": name, "key": "sea", "optional": True}

    assert variables({"name": "X", "valueFrom": {"configMapKeyRef": reference}}) == {}
    assert variables(envFrom=[{"configMapRef": {"name": "none", "optional": True}}]) == {}


def test_a_source_of_an_unknown_kind_is_passed_over() -> None:
    assert variables(envFrom=[{"prefix": "X_"}]) == {}


@pytest.mark.parametrize(
    ("written", "here"),
    [
        (
            {"MASTER_ADDR": "toy-worker-0.lab.svc", "MASTER_PORT": "2222"},
            {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "20001"},
        ),
        ({"MASTER_ADDR": "other.example", "MASTER_PORT": "2222"}, {}),
        ({"MASTER_ADDR": "toy-worker-0.lab.svc"}, {}),
        ({}, {}),
    ],
)
def test_rank_0_of_pytorch_listens_at_the_local_port_of_a_service(
    written: dict[str, str], here: dict[str, str]
) -> None:
    assert group_address(written, lambda text: text.replace("toy-worker-0.lab.svc:2222", "127.0.0.1:20001")) == here
