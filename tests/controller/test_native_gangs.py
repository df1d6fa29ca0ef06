"""Gangs on Kubernetes 1.37: a real kube-apiserver and kube-scheduler, the operator with its own rights, and no kubelet.

Three nodes have one quantum processor each, as their status says, and each worker of a gang of two needs one.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qtj_operator.api.names import LABEL_JOB
from tests.controller.conftest import install_crd
from tests.controller.operator_process import READY, Cluster, running
from tests.controller.test_install import DEPLOY
from tests.controller.test_operator import TRAINED
from tests.controller.test_rights import LEASE, PATIENCE, QUANTUM, Audited
from tests.e2e.rights import OF_A_NEWER_CLUSTER
from tests.jobs import a_container, a_template
from tests.missing import skip_or_fail
from tests.rights import denied, requests_of, unused
from tools.api_server import KUBECONFIG, OPERATOR, OPERATOR_TOKEN, Machine, Programs
from tools.background import process_running, wait_until
from tools.cluster.audit import audit_flags, audit_policy
from tools.cluster.tools import GANGS, program

pytestmark = pytest.mark.slow

GANG = {"schedulingPolicy": {"gang": True}}
QPU = "example.com/qpu"
GROUPS = "podgroups.v1beta1.scheduling.k8s.io"
GATE = "--feature-gates=GenericWorkload=true"
SERVED = "--runtime-config=scheduling.k8s.io/v1beta1=true"
UNTAINTED = "--disable-admission-plugins=TaintNodesByCondition"
"""Nobody here would take the taint of a new node away."""


@pytest.fixture(scope="module")
def newer(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """Kubernetes 1.37 with both features that gangs need, which are off by default, and with its scheduler."""
    apiserver, scheduler = program(GANGS, "kube-apiserver"), program(GANGS, "kube-scheduler")
    if not (Path(apiserver).exists() and Path(scheduler).exists()):
        skip_or_fail("there is no scheduler that knows gangs: build it with `python -m tools.cluster tools gangs`")
    folder = tmp_path_factory.mktemp("newer")
    policy, log = folder / "audit-policy.json", folder / "audit.log"
    policy.write_text(audit_policy(OPERATOR))
    flags = (*audit_flags(policy, log), GATE, SERVED, UNTAINTED)
    with Machine(replace(programs, apiserver=apiserver), folder, flags).started() as server:
        install_crd(server)
        server.kubectl("create", "namespace", QUANTUM)
        server.kubectl("apply", "-k", str(DEPLOY / "namespaced"))
        argv = (scheduler, f"--kubeconfig={server.kubeconfig}", "--leader-elect=false", "--secure-port=0", GATE)
        with process_running(argv, folder / "scheduler.log"):
            yield Audited(server, log)


@pytest.fixture
def gangs(newer: Audited, tmp_path: Path) -> Iterator["Gangs"]:
    """Three nodes, and an operator with the token of its service account."""
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=newer.server.url, token=OPERATOR_TOKEN))
    found = Gangs(newer)
    for name in ("node-1", "node-2", "node-3"):
        found.has_node(name)
    with running(replace(newer.server, kubeconfig=kubeconfig), QUANTUM, tmp_path, LEASE):
        yield found


class Gangs:
    """The gangs of the namespace, and what becomes of their pods."""

    def __init__(self, newer: Audited) -> None:
        self.newer, self.server = newer, newer.server

    def has_node(self, name: str) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        self.server.kubectl("create", "-f", "-", manifest=node)
        room = {"cpu": "8", "memory": "16Gi", "pods": "10", QPU: "1"}
        self.server.set_status("node", QUANTUM, name, {"capacity": room, "allocatable": room})

    def applies(self, name: str, **pod: Any) -> None:
        """A user creates a gang of two workers."""
        container = a_container(resources={"limits": {QPU: "1"}})
        workers = {"Worker": {"replicas": 2}}
        self.newer.create(name, replicaSpecs=workers, runPolicy=GANG, template=a_template(container, **pod))

    def pods(self, name: str) -> Sequence[dict[str, Any]]:
        items: Sequence[dict[str, Any]] = self.server.get("pods", "-n", QUANTUM, "-l", f"{LABEL_JOB}={name}")["items"]
        return items

    def bound(self, name: str) -> int:
        return sum("nodeName" in pod["spec"] for pod in self.pods(name))

    def race(self, *names: str) -> Sequence[str]:
        """Returns the gang that is bound first, and the other."""

        def holds() -> bool:
            return any(self.bound(name) == 2 for name in names)

        wait_until(holds, PATIENCE, f"one of {names} to be bound whole")
        return sorted(names, key=self.bound, reverse=True)

    def is_bound(self, name: str) -> None:
        wait_until(lambda: self.bound(name) == 2, PATIENCE, f"both pods of {name} to be bound")

    def is_refused(self, name: str) -> None:
        """The scheduler has tried both of its pods, and has bound none."""

        def holds() -> bool:
            said = [each for pod in self.pods(name) for each in pod["status"].get("conditions", [])]
            return [each.get("reason") for each in said if each["type"] == "PodScheduled"] == ["Unschedulable"] * 2

        wait_until(holds, PATIENCE, f"the scheduler to refuse {name}")
        assert self.bound(name) == 0

    def starts(self, name: str) -> None:
        for pod in self.pods(name):
            self.server.set_status("pod", QUANTUM, pod["metadata"]["name"], READY)
        self.newer.reason(name, "AllReplicasReady")

    def trains(self, name: str) -> None:
        self.starts(name)
        for worker in ("worker-1", "worker-0"):
            Cluster(self.server, QUANTUM).ends(f"{name}-{worker}", 0, TRAINED)

    def goes(self, pod: str) -> None:
        """Its kubelet, or that of a lost node, confirms that it has ended."""
        self.server.kubectl("delete", "pod", pod, "-n", QUANTUM, "--force", "--grace-period=0")

    def has_group_of(self, name: str, attempt: int) -> None:
        """Earlier ones are deleted; here is no controller that would let them go when their pods are gone."""

        def holds() -> bool:
            items = self.server.get(GROUPS, "-n", QUANTUM, "-l", f"{LABEL_JOB}={name}")["items"]
            stay = [each["metadata"]["name"] for each in items if "deletionTimestamp" not in each["metadata"]]
            return stay == [f"{name}-{attempt}"]

        wait_until(holds, PATIENCE, f"the group of attempt {attempt} of {name} alone")

    def restores_group(self, name: str) -> None:
        """Somebody edits the group, and the job, because nobody watches groups."""
        for kind, what, spec in (
            (GROUPS, f"{name}-1", {"schedulingPolicy": {"gang": {"minCount": 9}}}),
            ("qtj", name, {"runPolicy": {"backoffLimit": 9}}),
        ):
            patch = f"--patch={json.dumps({'spec': spec})}"
            self.server.kubectl("patch", kind, what, "-n", QUANTUM, "--type=merge", patch)

        def restored() -> bool:
            spec = self.server.get(GROUPS, f"{name}-1", "-n", QUANTUM)["spec"]
            return bool(spec["schedulingPolicy"]["gang"]["minCount"] == 2)

        wait_until(restored, PATIENCE, f"the group of {name} to be restored")

    def is_preempted(self, name: str) -> None:
        def holds() -> bool:
            return ["deletionTimestamp" in pod["metadata"] for pod in self.pods(name)] == [True, True]

        wait_until(holds, PATIENCE, f"both pods of {name} to be preempted")


def test_a_gang_is_bound_whole_or_not_at_all(gangs: Gangs) -> None:
    """Room for one and a half: then a restart, and one of a higher priority, all with the rights of the operator."""
    for name in ("gang-a", "gang-b"):
        gangs.applies(name)
    first, second = gangs.race("gang-a", "gang-b")
    gangs.is_refused(second)
    gangs.restores_group(second)

    gangs.trains(first)
    gangs.is_bound(second)

    gangs.starts(second)
    for worker in ("worker-1", "worker-0"):
        gangs.goes(f"{second}-{worker}")
    gangs.has_group_of(second, 2)
    gangs.is_bound(second)

    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}}
    gangs.server.kubectl("create", "-f", "-", manifest={**urgent, "value": 1000})
    gangs.applies("third", priorityClassName="urgent")
    gangs.is_preempted(second)
    for worker in ("worker-0", "worker-1"):
        gangs.goes(f"{second}-{worker}")
    gangs.is_bound("third")

    gangs.newer.foreign("PodGroup", "fourth-1", "scheduling.k8s.io/v1beta1", schedulingPolicy={"basic": {}})
    gangs.applies("fourth")
    gangs.newer.reason("fourth", "NameTaken")
    requests = requests_of(gangs.newer.log, OPERATOR)
    assert denied(requests) == []
    assert unused(OF_A_NEWER_CLUSTER, requests) == []
