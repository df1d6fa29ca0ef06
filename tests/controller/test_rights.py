"""The operator with the rights of `deploy/namespaced`, and the audit log: nothing is denied, and no right is unused."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from qtj_contract import TerminationMessage
from qtj_operator.api.names import API_VERSION, NEWEST_VERSION, PLURAL, VERSION
from tests.controller.conftest import install_crd
from tests.controller.crd_versions import job_in
from tests.controller.operator_process import READY, Cluster, Operator, running
from tests.controller.study_lab import study_object
from tests.controller.test_install import DEPLOY
from tests.controller.test_operator import TRAINED
from tests.e2e.rights import OF_A_NEWER_CLUSTER, USED_ELSEWHERE
from tests.rights import CHECKED_BY_ADMISSION, Right, denied, requests_of, rights_of, unused
from tools.api_server import KUBECONFIG, OPERATOR, OPERATOR_TOKEN, ApiServer, Machine, Programs
from tools.background import wait_until
from tools.cluster.audit import audit_flags, audit_policy

QUANTUM = "quantum"
PATIENCE = 60.0
LEASE = f"--lease-namespace={QUANTUM}"
ENFORCED = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
"""So that a child is refused unless the operator may update the finalizers of its owner."""

POD_GROUPS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"},
    },
    "spec": {
        "group": "scheduling.x-k8s.io",
        "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}
"""The Coscheduling plugin's, without its schema."""


SLOW = Right("list", "events")
"""Used when a start takes a minute: the scenario bad-input of the end-to-end tests waits for that."""


@dataclass(frozen=True)
class Audited:
    """An API server with the rights of one namespace and with an audit log."""

    server: ApiServer
    log: Path

    def create(self, name: str, version: str = NEWEST_VERSION, **spec: Any) -> None:
        self.server.kubectl("create", "-n", QUANTUM, "-f", "-", manifest=job_in(version, name, **spec))

    def foreign(self, kind: str, name: str, api_version: str = "v1", **spec: Any) -> None:
        """Creates an object that has the name of a child and is none."""
        manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.server.kubectl("create", "-n", QUANTUM, "-f", "-", manifest=manifest)

    def has(self, resource: str, name: str) -> None:
        wait_until(lambda: name in self.server.names(resource, QUANTUM), PATIENCE, f"{resource} {name}")

    def has_not(self, resource: str, name: str) -> None:
        wait_until(lambda: name not in self.server.names(resource, QUANTUM), PATIENCE, f"no {resource} {name}")

    def reason(self, name: str, reason: str) -> None:
        def holds() -> bool:
            return bool(self.server.get("qtj", name, "-n", QUANTUM).get("status", {}).get("reason") == reason)

        wait_until(holds, PATIENCE, f"{name} to be {reason}")

    def suspends_study(self, name: str, *, is_suspended: bool) -> None:
        change = json.dumps({"spec": {"suspend": is_suspended}})
        self.server.kubectl("patch", "qts", name, "-n", QUANTUM, "--type=merge", "-p", change)

    def trained(self, name: str) -> None:
        """The worker runs, and ends with weights."""
        self.has("pods", f"{name}-worker-0")
        self.server.set_status("pod", QUANTUM, f"{name}-worker-0", READY)
        Cluster(self.server, QUANTUM).ends(f"{name}-worker-0", 0, TRAINED)

    def roles(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.server.get("roles", "-n", QUANTUM)["items"]
        return items


@pytest.fixture(scope="module")
def audited(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    folder = tmp_path_factory.mktemp("audited")
    policy, log = folder / "audit-policy.json", folder / "audit.log"
    policy.write_text(audit_policy(OPERATOR))
    with Machine(programs, folder, (*audit_flags(policy, log), ENFORCED)).started() as server:
        install_crd(server)
        server.kubectl("create", "namespace", QUANTUM)
        server.kubectl("apply", "-k", str(DEPLOY / "namespaced"))
        yield Audited(server, log)


@pytest.fixture
def operator(audited: Audited, tmp_path: Path) -> Iterator[Operator]:
    """An operator with the token of its service account."""
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=audited.server.url, token=OPERATOR_TOKEN))
    with running(replace(audited.server, kubeconfig=kubeconfig), QUANTUM, tmp_path, LEASE) as one:
        yield one


def a_name_is_taken(audited: Audited) -> None:
    """A Service, a pod and a Job have the names of children: the operator looks at each, and leaves it alone."""
    audited.foreign("Service", "service-worker-0", clusterIP="None", selector={"app": "x"}, ports=[{"port": 1}])
    audited.foreign("Pod", "pod-worker-0", containers=[{"name": "x", "image": "x"}])
    pod = {"restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}
    audited.foreign("Job", "job-inference", "batch/v1", template={"spec": pod})
    for name in ("service", "pod"):
        audited.create(name, VERSION)
        audited.reason(name, "NameTaken")
    audited.create("job", inference={"args": ["infer"]})
    audited.trained("job")
    audited.reason("job", "NameTaken")


def a_gang_has_no_scheduler(audited: Audited) -> None:
    audited.create("gang", runPolicy={"schedulingPolicy": {"gang": True}})
    audited.reason("gang", "ChildRejected")


def a_pod_group_is_edited(audited: Audited) -> None:
    audited.server.kubectl("create", "-f", "-", manifest=POD_GROUPS)
    wait_until(lambda: audited.server.names("podgroups", QUANTUM) == ["gang"], PATIENCE, "the group of the gang")
    audited.has("pods", "gang-worker-0")
    audited.server.kubectl(
        "patch", "podgroup", "gang", "-n", QUANTUM, "--type=merge", '--patch={"spec":{"minMember":9}}'
    )
    more = '--patch={"spec":{"runPolicy":{"backoffLimit":9}}}'  # nobody watches PodGroups
    audited.server.kubectl("patch", "qtj", "gang", "-n", QUANTUM, "--type=merge", more)

    def repaired() -> bool:
        return bool(audited.server.get("podgroup", "gang", "-n", QUANTUM)["spec"]["minMember"] == 1)

    wait_until(repaired, PATIENCE, "the PodGroup to be repaired")
    audited.foreign("PodGroup", "grouped", "scheduling.x-k8s.io/v1alpha1")
    audited.create("grouped", runPolicy={"schedulingPolicy": {"gang": True}})
    audited.reason("grouped", "NameTaken")


def a_service_is_edited(audited: Audited) -> None:
    audited.create("edited")
    audited.has("pods", "edited-worker-0")
    selector = '--patch={"spec":{"selector":{"app":"other"}}}'
    audited.server.kubectl("patch", "service", "edited-worker-0", "-n", QUANTUM, "--type=merge", selector)

    def repaired() -> bool:
        service = audited.server.get("service", "edited-worker-0", "-n", QUANTUM)
        return "app" not in service["spec"]["selector"]

    wait_until(repaired, PATIENCE, "the Service to be repaired")


def a_job_is_suspended(audited: Audited) -> None:
    audited.create("paused")
    audited.has("pods", "paused-worker-0")
    audited.server.kubectl("patch", "qtj", "paused", "-n", QUANTUM, "--type=merge", '--patch={"spec":{"suspend":true}}')
    audited.has_not("pods", "paused-worker-0")


def a_replica_that_runs_is_deleted(audited: Audited) -> None:
    audited.create("cut")
    audited.has("pods", "cut-worker-0")
    audited.server.set_status("pod", QUANTUM, "cut-worker-0", READY)
    audited.reason("cut", "AllReplicasReady")
    audited.server.kubectl("delete", "pod", "cut-worker-0", "-n", QUANTUM, "--force", "--grace-period=0")
    wait_until(lambda: audited.server.get("qtj", "cut", "-n", QUANTUM)["status"]["attempt"] == 2, PATIENCE, "a restart")


def inference_is_edited(audited: Audited) -> None:
    audited.create("inferring", inference={"args": ["infer"]})
    audited.trained("inferring")
    audited.has("jobs", "inferring-inference")
    (before,) = (one["metadata"]["uid"] for one in inference_of(audited))
    other = '--patch={"spec":{"inference":{"args":["infer","--again"]}}}'
    audited.server.kubectl("patch", "qtj", "inferring", "-n", QUANTUM, "--type=merge", other)
    wait_until(
        lambda: [one for one in inference_of(audited) if one["metadata"]["uid"] != before], PATIENCE, "a new Job"
    )


def inference_of(audited: Audited) -> list[dict[str, Any]]:
    jobs = audited.server.get("jobs", "-n", QUANTUM)["items"]
    return [one for one in jobs if one["metadata"]["name"] == "inferring-inference"]


def a_tensorboard_is_edited_and_removed(audited: Audited) -> None:
    labels = {"app": "x"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    audited.foreign("Deployment", "named-tensorboard", "apps/v1", selector={"matchLabels": labels}, template=pod)
    audited.create("named", tensorboard={})
    wait_until(lambda: "does not belong" in board_message(audited), PATIENCE, "the name to be taken")
    audited.create("shown", tensorboard={})
    audited.has("deployments", "shown-tensorboard")
    audited.server.kubectl("scale", "deployment", "shown-tensorboard", "-n", QUANTUM, "--replicas=3")

    def repaired() -> bool:
        replicas = audited.server.get("deployment", "shown-tensorboard", "-n", QUANTUM)["spec"]["replicas"]
        return bool(replicas == 1)

    wait_until(repaired, PATIENCE, "the Deployment to be repaired")
    without = '--patch={"spec":{"tensorboard":null}}'
    audited.server.kubectl("patch", "qtj", "shown", "-n", QUANTUM, "--type=merge", without)
    audited.has_not("deployments", "shown-tensorboard")
    audited.has_not("services", "shown-tensorboard")


def board_message(audited: Audited) -> str:
    status = audited.server.get("qtj", "named", "-n", QUANTUM).get("status", {})
    return str(status.get("tensorboard", {}).get("message", ""))


def a_finished_job_expires(audited: Audited) -> None:
    audited.create("expiring", runPolicy={"ttlSecondsAfterFinished": 0})
    audited.trained("expiring")
    audited.has_not("qtj", "expiring")


def a_study_fails(audited: Audited) -> None:
    """One trial is deleted, and comes again; then one fails, and what runs is stopped."""
    study = study_object(namespace=QUANTUM, failurePolicy={"maxFailedTrials": 0})
    audited.server.kubectl("create", "-f", "-", manifest=study)
    audited.has("qtj", "rates-1")
    audited.has("pods", "rates-2-worker-0")
    before = audited.server.get("qtj", "rates-1", "-n", QUANTUM)["metadata"]["uid"]
    audited.server.kubectl("delete", "qtj", "rates-1", "-n", QUANTUM)
    audited.has("qtj", "rates-1")
    assert audited.server.get("qtj", "rates-1", "-n", QUANTUM)["metadata"]["uid"] != before
    Cluster(audited.server, QUANTUM).ends("rates-2-worker-0", 1, TerminationMessage())
    audited.has_not("qtj", "rates-1")


def a_study_is_suspended_and_expires(audited: Audited) -> None:
    study = study_object(name="short", namespace=QUANTUM, suspend=False, ttlSecondsAfterFinished=0)
    study["spec"] |= {"seeds": {"count": 1}, "failurePolicy": {"maxFailedTrials": 0}}
    audited.server.kubectl("create", "-f", "-", manifest=study)
    audited.has("pods", "short-1-worker-0")
    audited.suspends_study("short", is_suspended=True)
    audited.has_not("pods", "short-1-worker-0")
    audited.suspends_study("short", is_suspended=False)
    audited.has("pods", "short-1-worker-0")
    Cluster(audited.server, QUANTUM).ends("short-1-worker-0", 1, TerminationMessage())
    audited.has_not("qts", "short")


LIVES: tuple[Callable[[Audited], None], ...] = (
    a_name_is_taken,
    a_gang_has_no_scheduler,
    a_pod_group_is_edited,
    a_service_is_edited,
    a_job_is_suspended,
    a_replica_that_runs_is_deleted,
    inference_is_edited,
    a_tensorboard_is_edited_and_removed,
    a_finished_job_expires,
    a_study_fails,
    a_study_is_suspended_and_expires,
)


def test_every_right_is_used_and_nothing_is_denied(audited: Audited, operator: Operator) -> None:
    for life in LIVES:
        life(audited)
    operator.process.terminate()
    operator.process.wait(timeout=PATIENCE)

    requests = requests_of(audited.log, OPERATOR)
    assert denied(requests) == []
    assert unused(rights_of(audited.roles()) - {CHECKED_BY_ADMISSION, SLOW} - OF_A_NEWER_CLUSTER, requests) == []
    assert unused(USED_ELSEWHERE, requests) == [], "the end-to-end tests leave these to this test"
    assert versions_of_jobs(audited.log) == {VERSION}, "one watch, in the version of every CRD, sees all jobs"


def versions_of_jobs(log: Path) -> set[str]:
    """The versions of the API in which the operator asked for jobs."""
    objects = [json.loads(line).get("objectRef", {}) for line in log.read_text().splitlines()]
    return {each["apiVersion"] for each in objects if each.get("resource") == PLURAL}


def test_the_right_that_no_request_uses_is_needed_where_a_cluster_checks_owners(audited: Audited) -> None:
    audited.create("owner", suspend=True)
    uid = audited.server.get("qtj", "owner", "-n", QUANTUM)["metadata"]["uid"]
    owner = {"apiVersion": API_VERSION, "kind": "QuantumTrainingJob", "name": "owner", "uid": uid}
    meta = {"name": "child", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    audited.server.kubectl("create", "role", "pods", "--verb=create", "--resource=pods", "-n", QUANTUM)
    audited.server.kubectl("create", "rolebinding", "pods", "--role=pods", "--user=jane", "-n", QUANTUM)

    def answer(user: str) -> str:
        words = ("create", "-n", QUANTUM, "--dry-run=server", f"--as={user}", "-f", "-")
        return audited.server.kubectl(*words, manifest=pod, check=False)

    assert (
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
        in answer("jane")
    )
    assert "pod/child created" in answer(OPERATOR)
