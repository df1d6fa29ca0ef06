"""Templates that an API server accepts, and whose replicas could never start or never meet."""

from typing import Any

import pytest

from qtj_operator.core.invalid_spec import fault
from qtj_operator.core.platform import CLUSTER
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_container, a_job, a_template


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
