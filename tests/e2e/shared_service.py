"""Two workers behind one Service: the DNS of the cluster gives each a name below it."""

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl
from tests.e2e.light import light
from tests.e2e.trial import Trial
from tests.e2e.world import JOB_LABEL, World

__all__ = ["shared_service"]


def shared_service(checks: Checks, world: World) -> None:
    """The toy's follower connects to its leader by the name in TF_CONFIG, or the job never ends."""
    job = light("shared", epochs=20)
    job["spec"]["replicaService"] = "Shared"
    trial = Trial.apply(checks, world, job)
    kubectl("-n", world.namespace, "wait", "qtj/shared", "--for=condition=Running", "--timeout=300s", timeout=310)
    services = get("-n", world.namespace, "services", "-l", f"{JOB_LABEL}=shared")["items"]
    checks.equal("all replicas share one Service", [each["metadata"]["name"] for each in services], ["shared"])
    trial.ends()
    trial.deleted()
