"""Which connections NetworkPolicies allow, as the API reference says: no policy engine runs on the test cluster.

The rules are those of Kubernetes, "Network Policies" (concepts/services-networking) and NetworkPolicySpec of
networking.k8s.io/v1, for incoming connections within the cluster:

* A pod that no policy of its namespace selects takes every connection.
* A pod that some select takes what at least one rule of one of them allows: policies add up.
* A rule allows what matches one of its `from` and one of its `ports`; one that is left out matches everything.
* A peer with a podSelector alone is in the namespace of the policy; with a namespaceSelector too, both must match.
* An empty selector matches everything, and one with several conditions what meets all of them.

A field that this model does not know is an error, so that a policy cannot mean more than was tested.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Pod", "allowed"]

Json = Mapping[str, Any]
_OF_NAMESPACE = "kubernetes.io/metadata.name"
"""The label that the API server gives each namespace, with its name."""


@dataclass(frozen=True)
class Pod:
    """An end of a connection."""

    namespace: str
    labels: Mapping[str, str]


def allowed(policies: Iterable[Json], source: Pod, target: Pod, port: int) -> bool:
    """Whether the policies, each with its namespace, let a TCP connection to the target pass."""
    of_target = [policy["spec"] for policy in policies if _is_for(policy, target)]
    return not of_target or any(
        _matches(rule, source, target.namespace, port) for spec in of_target for rule in spec.get("ingress", ())
    )


def _is_for(policy: Json, target: Pod) -> bool:
    spec = _known(policy["spec"], "podSelector", "policyTypes", "ingress")
    assert spec["policyTypes"] == ["Ingress"]
    return policy["metadata"]["namespace"] == target.namespace and _selects(spec["podSelector"], target.labels)


def _matches(rule: Json, source: Pod, namespace: str, port: int) -> bool:
    peers, ports = _known(rule, "from", "ports").get("from"), rule.get("ports")
    return (not peers or any(_is_peer(peer, source, namespace) for peer in peers)) and (
        not ports or port in [_known(each, "port")["port"] for each in ports]
    )


def _is_peer(peer: Json, source: Pod, namespace: str) -> bool:
    assert peer, "a peer without selectors is invalid"
    pods, namespaces = (
        _known(peer, "podSelector", "namespaceSelector").get("podSelector"),
        peer.get("namespaceSelector"),
    )
    there = source.namespace == namespace
    if namespaces is not None:
        there = _selects(namespaces, {_OF_NAMESPACE: source.namespace})
    return there and (pods is None or _selects(pods, source.labels))


def _selects(selector: Json, labels: Mapping[str, str]) -> bool:
    conditions = _known(selector, "matchLabels", "matchExpressions")
    return all(labels.get(name) == value for name, value in conditions.get("matchLabels", {}).items()) and all(
        _exists(each, labels) for each in conditions.get("matchExpressions", ())
    )


def _exists(expression: Json, labels: Mapping[str, str]) -> bool:
    assert _known(expression, "key", "operator")["operator"] == "Exists"
    return expression["key"] in labels


def _known(one: Json, *fields: str) -> Json:
    assert set(one) <= set(fields), one
    return one
