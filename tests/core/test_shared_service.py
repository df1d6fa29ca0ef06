"""`replicaService: Shared`: one Service for all replicas, by which each has a name of its own."""

import json
from typing import Any

import pytest

from qtj_contract import Env
from qtj_operator.api.names import Role
from qtj_operator.core.decision import Kind, Restore
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from qtj_operator.manifests.tf_config import tf_config
from tests.core.created import created
from tests.core.refused import sentence
from tests.core.world import new_job, running_job, trained_job
from tests.jobs import a_job, a_template

SHARED: dict[str, Any] = {"replicaService": "Shared"}


def test_one_service_with_the_name_of_the_job_comes_before_the_pods() -> None:
    assert created(new_job(chief=True, workers=2, **SHARED).recorded()) == [
        "Service qcnn",
        "Pod qcnn-chief-0",
        "Pod qcnn-worker-0",
        "Pod qcnn-worker-1",
    ]


def test_a_gang_with_its_service_needs_nothing() -> None:
    assert created(running_job(**SHARED)) == []


def test_the_service_is_created_again_until_training_has_ended() -> None:
    assert created(running_job(**SHARED).without_services()) == ["Service qcnn"]
    assert created(trained_job(**SHARED).without_services()) == []


def test_an_edit_of_the_service_is_undone() -> None:
    world = running_job(**SHARED)

    decision = world.with_shared_service(selector={"app": "mine"}).decide()

    built = replica_service(world.job, None)["spec"]
    promised = {field: built[field] for field in ("ports", "selector", "publishNotReadyAddresses")}
    assert decision.actions == (Restore(Kind.SERVICE, "qcnn", "qcnn-version", promised),)


def test_every_replica_has_the_name_that_its_peers_look_up() -> None:
    job = a_job(chief=True, workers=2, evaluator=True, **SHARED)
    service = replica_service(job, None)

    for replica in job.replicas():
        pod = replica_pod(job, replica, attempt=1)
        spec, labels = pod["spec"], pod["metadata"]["labels"]
        assert (spec["hostname"], spec["subdomain"]) == (pod["metadata"]["name"], service["metadata"]["name"])
        assert service["spec"]["selector"].items() <= labels.items()
        config = json.loads(tf_config(job, replica))
        environment = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
        assert environment[Env.TF_CONFIG] == tf_config(job, replica)
        if replica.role != Role.EVALUATOR:
            host = f"{spec['hostname']}.{spec['subdomain']}.{job.namespace}.svc:2222"
            assert config["cluster"][config["task"]["type"]][config["task"]["index"]] == host


def test_the_service_publishes_replicas_that_are_not_ready_on_all_ports() -> None:
    spec = replica_service(a_job(**SHARED), None)["spec"]

    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert {port["name"] for port in spec["ports"]} == {"grpc", "profiler", "metrics"}


@pytest.mark.parametrize("written", [None, "PerReplica"])
def test_without_it_each_replica_has_a_service_and_its_pod_no_other_hostname(written: str | None) -> None:
    job = a_job(workers=1, replicaService=written)

    assert "hostname" not in replica_pod(job, job.leader, attempt=1)["spec"]
    assert replica_service(job, job.leader)["metadata"]["name"] == "qcnn-worker-0"


def test_hosts_whose_full_names_are_too_long_for_linux_are_refused() -> None:
    """The kubelet would start none of the pods."""
    full = {"template": a_template(setHostnameAsFQDN=True)}

    assert sentence(name="q" * 40, **full, **SHARED) == (
        "spec.template.spec sets setHostnameAsFQDN, and where replicaService is Shared, hosts then have names of more "
        "than 64 characters, which Linux does not allow: remove it from the template"
    )
    assert "Pod qcnn-worker-0" in created(new_job(**full, **SHARED).recorded()), "short enough"
    assert "Pod qcnn-worker-0" in created(new_job(**full).recorded()), "without Shared they have short names"


@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_a_template_with_a_name_of_its_own_is_refused(field: str) -> None:
    own = {"template": a_template(**{field: "mine"})}

    assert sentence(**own, **SHARED) == (
        f"spec.template.spec sets {field}, which the operator writes where replicaService is Shared: "
        "remove it from the template"
    )
    assert "Pod qcnn-worker-0" in created(new_job(**own).recorded()), "without Shared it is the user's"
