"""Admission plugins of others: a policy that is added and removed, a webhook that mutates, and one that fails.

Each applies to the objects of one job only, because other scenarios run at the same time.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import KubectlError, get, kubectl, wait_until
from tests.e2e.light import Manifest, light
from tests.e2e.machine import kill
from tests.e2e.trial import Trial
from tests.e2e.webhook import DENIAL, DENY, LABEL, MUTATE, PROTOCOL, webhook
from tests.e2e.world import JOB_LABEL, World

_GROUP = "admissionregistration.k8s.io/v1"
_MAINTENANCE = "qtj-e2e-maintenance"
_MESH = "mesh.qtj-e2e.example.com"
_VERIFIER = "verifier.qtj-e2e.example.com"
_NOWHERE = "https://127.0.0.1:9"
"""Nothing listens there."""
_DENIALS = 2
"""How many denials to wait for before the policy is removed: the operator retries, and waits longer each time."""


def policy(checks: Checks, world: World) -> None:
    """A worker is killed while a ValidatingAdmissionPolicy denies new pods: the job waits, and continues afterwards."""
    trial = Trial.apply(checks, world, light("denied", epochs=120))
    trial.trains()
    with _applied(_maintenance(world.namespace, trial.name)):
        _in_force(world.namespace, trial.name, lambda message: _MAINTENANCE in message)
        kill(trial.process(trial.workers[1]))
        checks.that(f"it says who denies: {trial.says(_MAINTENANCE)}", holds=True)
        before = _denials()
        wait_until("the operator has tried again", lambda: _denials() >= before + _DENIALS, 120)
    trial.ends(restarts=1)
    phases = {sight.status.get("phase") for sight in trial.sights}
    checks.that("it was never Failed", "Failed" not in phases, phases)
    trial.deleted()


def mutating_webhook(checks: Checks, world: World) -> None:
    """A webhook that changes each Service and pod at every write: the operator does not change it back."""
    with webhook() as hook, _applied(_webhook("Mutating", _MESH, hook.at(MUTATE), _of_job(world.namespace, "meshed"))):
        _in_force(world.namespace, "meshed", lambda message: LABEL in message)
        trial = Trial.apply(checks, world, light("meshed", epochs=150))
        trial.trains(epochs=50)
        service = get("-n", world.namespace, "service", trial.workers[1])
        protocols = {port.get("appProtocol") for port in service["spec"]["ports"]}
        checks.equal("what the webhook has added stays", protocols, {PROTOCOL})
        _restored(trial, service["spec"]["ports"])
        trial.ends()
        writes = [(operation, name) for operation, kind, name in hook.writes if kind == "Service"]
        expected = [("CREATE", name) for name in trial.workers] + [("UPDATE", trial.workers[1])] * 2
        checks.equal("writes of Services: one each, one edit, one repair", sorted(writes), sorted(expected))
        checks.that("the pods were mutated", all(LABEL in pod["metadata"]["labels"] for pod in trial.pods()))
    trial.deleted()


def failing_webhook(checks: Checks, world: World) -> None:
    """A webhook that cannot be called, and then denies without a code: the job waits, and starts when it is gone."""
    with webhook() as hook:
        selectors = _of_job(world.namespace, "verified")
        with _applied(_webhook("Validating", _VERIFIER, {"url": _NOWHERE}, selectors)):
            _in_force(world.namespace, "verified", lambda message: _VERIFIER in message)
            trial = Trial.apply(checks, world, light("verified", epochs=10))
            checks.that(f"it says who cannot be called: {trial.says(_VERIFIER)}", holds=True)
            _apply(_webhook("Validating", _VERIFIER, hook.at(DENY), selectors))
            checks.that(f"it says who denies: {trial.says(DENIAL)}", holds=True)
        trial.ends()
    trial.deleted()


def _restored(trial: Trial, ports: list[Manifest]) -> None:
    """Takes a port away from a Service, and waits until it is there again."""
    service = ("-n", trial.world.namespace, "service", trial.workers[1])
    kubectl("patch", *service, "--type=json", "-p", '[{"op":"remove","path":"/spec/ports/0"}]')
    trial.meanwhile("has its Service repaired", lambda: get(*service)["spec"]["ports"] == ports, 120)


def _in_force(namespace: str, job: str, holds: Callable[[str], object]) -> None:
    """Waits until the API server heeds a new configuration, which it reads from its own watch."""
    probe = light(job, 0)["spec"]["template"]["spec"]["containers"][0]
    probe |= {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    metadata = {"name": f"{job}-probe", "labels": {JOB_LABEL: job}}
    spec = {"containers": [probe], "securityContext": security}
    pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def answer() -> str:
        try:
            return kubectl("-n", namespace, "create", "--dry-run=server", "-o", "json", "-f", "-", stdin=pod)
        except KubectlError as error:
            return str(error)

    wait_until(f"admission of the pods of {job} has changed", lambda: holds(answer()), 60, pause=0.2)


def _denials() -> int:
    """Returns how often the policy has denied something."""
    lines = kubectl("get", "--raw", "/metrics").splitlines()
    counted = (line for line in lines if line.startswith("apiserver_validating_admission_policy_check_total{"))
    return sum(int(line.split()[-1]) for line in counted if _MAINTENANCE in line and '"deny"' in line)


def _maintenance(namespace: str, job: str) -> Manifest:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    policy = {
        "apiVersion": _GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _MAINTENANCE},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], **_of_job(namespace, job)},
            "validations": [{"expression": "false", "message": "no new pods during maintenance"}],
        },
    }
    binding = {
        "apiVersion": _GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": _MAINTENANCE},
        "spec": {"policyName": _MAINTENANCE, "validationActions": ["Deny"]},
    }
    return {"apiVersion": "v1", "kind": "List", "items": [policy, binding]}


def _webhook(kind: str, name: str, client: Manifest, selectors: Manifest) -> Manifest:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
    configured = {
        "name": name,
        "clientConfig": client,
        "rules": [{**rule, "resources": ["pods", "services"]}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
        **selectors,
    }
    metadata = {"name": name}
    return {"apiVersion": _GROUP, "kind": f"{kind}WebhookConfiguration", "metadata": metadata, "webhooks": [configured]}


def _of_job(namespace: str, job: str) -> Manifest:
    """What is limited to the children of one job in the test namespace."""
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": {JOB_LABEL: job}},
    }


@contextmanager
def _applied(manifest: Manifest) -> Iterator[None]:
    """Has it in the cluster while the context lasts."""
    _apply(manifest)
    try:
        yield
    finally:
        kubectl("delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump(manifest))


def _apply(manifest: Manifest) -> None:
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump(manifest))
