"""What the real kubelet says of pods: those that it stops itself, and one with a container that is done long before.

And two behind one Service, to which the DNS of the cluster gives a name each.
"""

from collections.abc import Sequence

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl
from tests.e2e.light import Manifest, light
from tests.e2e.trial import Trial
from tests.e2e.world import JOB_LABEL, World

_POD_SECONDS = 15
"""After which the kubelet stops a pod: time to start, and no more."""
_PENDING_SECONDS = 45
_EPOCHS = 600
"""A minute: longer than the replicas may be pending."""

_SCRATCH = {"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}
_OBEYS = """
trap 'exit 0' TERM
if [ "$QTJ_ATTEMPT" = 1 ]; then
  if [ -d /scratch ]; then head -c 8388608 /dev/zero > /scratch/full; fi
  sleep 600 & wait
fi
printf '{"weights": {"uri": "gs://quantum-training/tmp/w", "sha256": "%064d"}}' 0 > "$QTJ_TERMINATION_LOG"
"""
"""Ends with 0 at SIGTERM in the first attempt, and has trained at once in the second. Fills a volume that it has."""


def stopped_by_kubelet(checks: Checks, world: World) -> None:
    """A pod that runs longer than its own activeDeadlineSeconds has not trained, although its program ends with 0."""
    job = obedient("stopped")
    _pod(job)["activeDeadlineSeconds"] = _POD_SECONDS
    failures = _trains_again(checks, world, job)
    ended = [(failure["reason"], failure.get("exitCode")) for failure in failures]
    checks.equal("how the first attempt ended", ended, [("DeadlineExceeded", 0)])


def evicted_by_kubelet(checks: Checks, world: World) -> None:
    """A pod that the kubelet evicts for what it has written has not trained; this counts, for it would go on."""
    job = obedient("evicted")
    _pod(job)["volumes"] = [_SCRATCH]
    _pod(job)["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    failures = _trains_again(checks, world, job)
    checks.equal("how the first attempt ended", [failure["reason"] for failure in failures], ["Evicted"])


def _trains_again(checks: Checks, world: World, job: Manifest) -> Sequence[Manifest]:
    """Runs a job that is stopped in its first attempt; returns its failures."""
    trial = Trial.apply(checks, world, job)
    status = trial.ends(restarts=1)
    checks.equal("the weights are those of the second", status["weights"]["uri"], "gs://quantum-training/tmp/w")
    trial.deleted()
    failures: Sequence[Manifest] = status.get("failures", ())
    return failures


def obedient(name: str) -> Manifest:
    """Returns a job of one worker that ends with 0 at SIGTERM in its first attempt, and trains in its second."""
    job = light(name, epochs=1)
    _pod(job)["containers"][0] |= {"command": ["sh", "-c", _OBEYS], "args": []}
    job["spec"]["replicaSpecs"] = {"Worker": {"replicas": 1}}
    return job


def finished_helper(checks: Checks, world: World) -> None:
    """A container that is done at once makes the pods NotReady for good; the job runs, and is no longer pending."""
    job = light("helped", epochs=_EPOCHS)
    trainer = _pod(job)["containers"][0]
    helper = {"name": "helper", "image": trainer["image"], "command": ["true"], "resources": trainer["resources"]}
    _pod(job)["containers"].append(helper)
    job["spec"]["runPolicy"] = {"pendingDeadlineSeconds": _PENDING_SECONDS}
    trial = Trial.apply(checks, world, job)
    kubectl("-n", world.namespace, "wait", "qtj/helped", "--for=condition=Running", "--timeout=300s", timeout=310)
    trial.wait("reports its progress", lambda status: status.get("progress", {}).get("epoch"))
    ready = [
        condition["status"]
        for pod in trial.pods()
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready"
    ]
    checks.equal("the pods are not ready, for their helpers are done", ready, ["False", "False"])
    trial.ends()
    trial.deleted()


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


def _pod(job: Manifest) -> Manifest:
    pod: Manifest = job["spec"]["template"]["spec"]
    return pod
