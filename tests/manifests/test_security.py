"""Defaults of security contexts never contradict what the author of the template wrote, at either level."""

from typing import Any

import pytest

from qtj_operator.api.template import read_template
from qtj_operator.manifests.pod import pod_template
from tests.jobs import a_container, a_template

SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}


def contexts(
    container: dict[str, Any], pod: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The security contexts of a pod, of its init container as its author wrote it, and of its main container."""
    init = a_container(name="chown", securityContext=container)
    built = pod_template(read_template(a_template(initContainers=[init], securityContext=pod or {})), {})["spec"]
    return (
        built["securityContext"],
        built["initContainers"][0]["securityContext"],
        built["containers"][0]["securityContext"],
    )


def starts(pod: dict[str, Any], container: dict[str, Any]) -> bool:
    """Whether an API server accepts the container, and a kubelet starts it, by their own rules (Kubernetes 1.34)."""
    user = container.get("runAsUser", pod.get("runAsUser"))
    non_root = container.get("runAsNonRoot", pod.get("runAsNonRoot"))
    confined = container.get("allowPrivilegeEscalation") is False
    added = container.get("capabilities", {}).get("add", ())
    refused = confined and (container.get("privileged") or "CAP_SYS_ADMIN" in added)
    return not refused and not (user == 0 and non_root)


def test_an_author_who_writes_nothing_gets_all_defaults() -> None:
    pod, init, main = contexts({})

    assert (pod, init, main) == ({"runAsNonRoot": True, **SECCOMP}, SAFE, SAFE)


@pytest.mark.parametrize("pod", [{}, {"runAsUser": 0}, {"runAsUser": 1000}, {"runAsNonRoot": False}])
@pytest.mark.parametrize(
    "container",
    [
        {},
        {"runAsUser": 0},
        {"runAsUser": 1000},
        {"privileged": True},
        {"privileged": True, "runAsUser": 0},
        {"capabilities": {"add": ["CAP_SYS_ADMIN"]}},
        {"runAsUser": 0, "runAsNonRoot": False},
    ],
)
def test_whatever_an_author_asks_for_the_container_starts(pod: dict[str, Any], container: dict[str, Any]) -> None:
    of_pod, init, main = contexts(container, pod)

    assert starts(of_pod, init)
    assert starts(of_pod, main)
    assert {**init, **container} == init, "what the author wrote stays"
    assert {**of_pod, **pod} == of_pod


def test_root_in_one_container_takes_nothing_from_the_others() -> None:
    pod, init, main = contexts({"runAsUser": 0})

    assert pod == {"runAsNonRoot": True, **SECCOMP}
    assert init == {"runAsUser": 0, "runAsNonRoot": False, "allowPrivilegeEscalation": False}, "it may change owners"
    assert main == SAFE


def test_a_privileged_container_may_run_as_the_root_of_its_image() -> None:
    _, init, main = contexts({"privileged": True})

    assert (init, main) == ({"privileged": True, "runAsNonRoot": False}, SAFE)


def test_a_pod_that_runs_as_root_is_not_forbidden_to() -> None:
    pod, init, main = contexts({"runAsUser": 1000}, {"runAsUser": 0})

    assert pod == {"runAsUser": 0, **SECCOMP}
    assert init == {"runAsUser": 1000, **SAFE}
    assert main == {"allowPrivilegeEscalation": False, "runAsNonRoot": False}
