"""What an API server takes: a mistake of a user causes one clear message, and other jobs continue; examples pass."""

from collections.abc import Callable
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, events, get, kubectl, qtj, refusal, wait_until
from tests.e2e.trial import Manifest, example
from tests.e2e.world import World

Mistake = Callable[[Manifest], None]

REJECTED: tuple[tuple[str, Mistake, str], ...] = (
    ("an unknown field", lambda job: job["spec"].update(typo=1), 'unknown field "spec.typo"'),
    (
        "zero workers",
        lambda job: job["spec"]["replicaSpecs"]["Worker"].update(replicas=0),
        "spec.replicaSpecs.Worker.replicas",
    ),
    (
        "a name whose children pass 63 characters",
        lambda job: job["metadata"].update(name="q" * 52),
        "metadata.name may have at most 51 characters",
    ),
    (
        "an unknown scheme",
        lambda job: job["spec"]["artifacts"].update(uri="s3://bucket/path"),
        "must begin with gs:// (a bucket) or file:///",
    ),
    ("no bucket", lambda job: job["spec"]["artifacts"].update(uri="gs:///path"), "names no valid bucket"),
    ("no role", lambda job: job["spec"].update(replicaSpecs={}), "name at least one role"),
)
REPORTED = {
    "an image that cannot be pulled": (
        *("no-such-image", "Running", "ImageNotPulled"),
        'image "localhost/no-such-image:1" of no-such-image-worker-',
    ),
    "a bucket that does not exist": (
        *("no-such-bucket", "Failed", "ReplicaFailed"),
        "the bucket gs://no-such-bucket does not exist",
    ),
    "a volume of a Secret that does not exist": (
        *("no-such-secret", "Running", "ContainerNotStarted"),
        '(FailedMount): MountVolume.SetUp failed for volume "key" : secret "no-such-secret" not found',
    ),
}
"""What only the world can refuse: the name of the job, and the condition, reason and sentence in which it ends."""


def run(checks: Checks, world: World) -> None:
    """Makes each mistake, waits for the message about it, and removes it again."""
    namespace = world.namespace
    _rejected(checks, namespace)
    broken = [_no_such_image(), _no_such_bucket(), _no_such_secret()]
    for job in broken:
        kubectl("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(job))
    _reported(checks, namespace)
    for job in broken:
        kubectl("-n", namespace, "delete", "qtj", job["metadata"]["name"], "--wait=false")


def _rejected(checks: Checks, namespace: str) -> None:
    """The schema refuses what it can, at once."""
    with checks.scenario("bad input is rejected by kubectl apply"):
        for what, spoil, sentence in REJECTED:
            job = example("spoiled")
            spoil(job)
            answer = refusal("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(job))
            checks.that(f"{what}: {sentence}", sentence in answer, answer or "it was accepted")


def _reported(checks: Checks, namespace: str) -> None:
    for what, (name, condition, reason, sentence) in REPORTED.items():
        with checks.scenario(what):
            _expect(checks, namespace, name, condition, reason, sentence)


def _expect(checks: Checks, namespace: str, name: str, condition: str, reason: str, sentence: str) -> None:
    def found() -> dict[str, Any]:
        conditions = get("-n", namespace, "qtj", name).get("status", {}).get("conditions", ())
        return next((c for c in conditions if c["type"] == condition and c["reason"] == reason), {})

    wait_until(f"{name} says {reason}", lambda: bool(found()), 300)
    message = found()["message"]
    checks.that(f"condition {condition}/{reason}: {message}", sentence in message and "Traceback" not in message)

    def types() -> list[str]:
        return [event["type"] for event in events(namespace, name) if event["reason"] == reason]

    wait_until("the event, which follows the status, is there", types, 30)
    checks.equal("one event of type Warning", types(), ["Warning"])


def _no_such_image() -> Manifest:
    job = example("no-such-image")
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "localhost/no-such-image:1"
    return job


def _no_such_secret() -> Manifest:
    job = example("no-such-secret")
    pod = job["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "key", "secret": {"secretName": "no-such-secret"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "key", "mountPath": "/key"}]  # else the kubelet leaves it out
    return job


def _no_such_bucket() -> Manifest:
    job = example("no-such-bucket")
    job["spec"]["artifacts"]["uri"] = "gs://no-such-bucket/qcnn"
    job["spec"]["replicaSpecs"]["Worker"]["replicas"] = 1
    return job


def rendered(checks: Checks, _: World) -> None:
    """Renders each example and has the API server check what came out, field by field."""
    with checks.scenario("qtj render | kubectl apply --dry-run=server"):
        for each in sorted((ROOT / "examples").glob("*.yaml")):
            made = qtj("render", str(each))
            made.check_returncode()
            refused = refusal("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=made.stdout)
            checks.equal(f"{each.name}: what is refused", refused, "")
