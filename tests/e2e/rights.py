"""What the operator asked of the API server in a whole run, beside what deploy/kustomize allows it."""

from datetime import UTC, datetime

from tests.e2e.checks import Checks
from tests.e2e.install import OPERATOR
from tests.e2e.kubectl import get
from tests.rights import CHECKED_BY_ADMISSION, Right, denied, requests_of, rights_of, unused
from tools.cluster.control_plane import AUDIT_LOG, AUDITED

USED_ELSEWHERE = frozenset(
    {
        Right("delete", "jobs.batch"),  # inference is edited, or its node is lost
        Right("delete", "quantumtrainingjobs.quantumtraining.dev"),  # ttlSecondsAfterFinished
        Right("delete", "quantumtrainingstudies.quantumtraining.dev"),  # the same
        Right("patch", "quantumtrainingjobs.quantumtraining.dev"),  # a study is suspended
        *(
            Right("get", resource)
            for resource in ("deployments.apps", "jobs.batch", "pods", "services", "podgroups.scheduling.x-k8s.io")
        ),  # the name of a child is taken
    }
)
"""What a run may do without: tests/controller/test_rights.py uses each of them."""

OF_A_NEWER_CLUSTER = frozenset(
    Right(verb, "podgroups.scheduling.k8s.io") for verb in ("create", "delete", "get", "patch")
)
"""Not used before Kubernetes 1.37: tests/controller/test_native_gangs.py uses each of them."""

OPTIONAL = Right("get", "nodes")
"""Asked for before a pod is deleted by force, also without the component deploy/node-reader."""


def now() -> str:
    """Returns the time in the form of the audit log."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def rights(checks: Checks, since: str) -> None:
    """Checks that nothing was denied and no right is unused, in a run of all scenarios."""
    requests = [each for each in requests_of(AUDIT_LOG, AUDITED, since=since) if not each.uses(OPTIONAL)]
    roles = [get("clusterrole", "qtj-operator"), get(*OPERATOR, "role", "qtj-operator-lease")]
    checks.note(f"{len(requests)} requests of the operator are in {AUDIT_LOG}")
    checks.equal("nothing that the operator asked for was denied", denied(requests), [])
    left = rights_of(roles) - USED_ELSEWHERE - OF_A_NEWER_CLUSTER - {CHECKED_BY_ADMISSION}
    checks.equal("the operator used each of its rights", unused(left, requests), [])
