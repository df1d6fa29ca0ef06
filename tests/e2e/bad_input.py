"""What a user may get wrong: each mistake causes one clear message, and other jobs continue."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import yaml

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, events, get, kubectl, wait_until
from tests.e2e.world import World

Manifest = dict[str, Any]
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
            job = _example("spoiled")
            spoil(job)
            answer = _refusal(namespace, job)
            checks.that(f"{what}: {sentence}", sentence in answer, answer or "it was accepted")


def _reported(checks: Checks, namespace: str) -> None:
    """What only the world can refuse ends in a condition and an event."""
    with checks.scenario("an image that cannot be pulled"):
        _expect(
            checks,
            namespace,
            "no-such-image",
            condition="Running",
            reason="ImageNotPulled",
            sentence='image "localhost/no-such-image:1" of no-such-image-worker-',
        )
    with checks.scenario("a bucket that does not exist"):
        _expect(
            checks,
            namespace,
            "no-such-bucket",
            condition="Failed",
            reason="ReplicaFailed",
            sentence="the bucket gs://no-such-bucket does not exist",
        )
    with checks.scenario("a volume of a Secret that does not exist"):
        _expect(
            checks,
            namespace,
            "no-such-secret",
            condition="Running",
            reason="ContainerNotStarted",
            sentence='(FailedMount): MountVolume.SetUp failed for volume "key" : secret "no-such-secret" not found',
        )


def _expect(checks: Checks, namespace: str, name: str, *, condition: str, reason: str, sentence: str) -> None:
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


def _refusal(namespace: str, job: Manifest) -> str:
    try:
        kubectl("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(job))
    except KubectlError as error:
        return str(error)
    return ""


def _example(name: str) -> Manifest:
    job: Manifest = deepcopy(yaml.safe_load((ROOT / "examples/qcnn.yaml").read_text()))
    job["metadata"]["name"] = name
    return job


def _no_such_image() -> Manifest:
    job = _example("no-such-image")
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "localhost/no-such-image:1"
    return job


def _no_such_secret() -> Manifest:
    job = _example("no-such-secret")
    pod = job["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "key", "secret": {"secretName": "no-such-secret"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "key", "mountPath": "/key"}]  # else the kubelet leaves it out
    return job


def _no_such_bucket() -> Manifest:
    job = _example("no-such-bucket")
    job["spec"]["artifacts"]["uri"] = "gs://no-such-bucket/qcnn"
    job["spec"]["replicaSpecs"]["Worker"]["replicas"] = 1
    return job
