"""Reads what a job has stored through a pod: it is created, commands in it read, and it is removed in any case.

on_cluster(create) ──▶ wait until it runs ──▶ a command for each address ──▶ on_cluster(remove)
"""

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import resources

from qtj.cluster.connection import on_cluster
from qtj.cluster.pod_channels import Executed, execute
from qtj.cluster.request import Sent, send_json
from qtj.report.pod_program import NOTHING_THERE
from qtj.script.objects import with_owner
from qtj.terminal.errors import InputError
from qtj.terminal.streams import print_stderr
from qtj_operator.api.reading import InvalidJob, read_leniently
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.manifests.pod import pod_template
from qtj_report.artifacts import NoAccessError, Read

__all__ = ["reader_pod", "reading_through_pod"]

_START_SECONDS = 120.0
_PERIOD_SECONDS = 1.0
_NOT_FOUND = 404
CONTAINER = "reader"
_SECONDS = 600
_WAIT = f"import time; time.sleep({_SECONDS})"
_KEPT = ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts", "volumeDevices", "securityContext")
"""What it has of the main container: nothing of what only a training needs, such as GPUs, ports and probes."""
_RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}


@contextmanager
def reading_through_pod(job: Object, patience: float = _START_SECONDS) -> Iterator[Read]:
    """Yields what reads the artifacts of a job with the rights of the job.

    Args:
        job: The job, as the API server has it.
        patience: Seconds in which the pod has to start.

    Raises:
        InputError: The API server refuses, or the pod does not start.
    """
    meta = job["metadata"]
    pod = reader_pod(job, f"{meta['name'][:40].rstrip('-.')}-fetch-{secrets.token_hex(3)}")
    refused = f"no pod can read what {meta['name']} has stored"
    created = on_cluster(lambda client, _: client.create(Resource.PODS, pod), meta["namespace"], refused)
    try:
        on_cluster(partial(_started, created, patience), meta["namespace"], refused)
        yield partial(_read, created)
    finally:
        on_cluster(partial(_removed, created), meta["namespace"])


async def _started(pod: Object, patience: float, client: ApiClient, namespace: str) -> None:
    name, deadline = pod["metadata"]["name"], time.monotonic() + patience
    while True:
        phase, why = _state(await client.get(Resource.PODS, namespace, name))
        if phase == "Running":
            return
        if phase != "Pending":
            raise InputError(f"the pod {name} has ended before it could read anything: {why or phase}")
        if time.monotonic() >= deadline:
            raise InputError(f"the pod {name} has not started within {patience:g} s: {why or 'it is Pending'}")
        await asyncio.sleep(_PERIOD_SECONDS)


def _state(pod: Object | None) -> tuple[str, str]:
    """Returns the phase of a pod, and why it has no other one."""
    if pod is None:
        return "Deleted", "somebody has deleted it"
    status = pod.get("status") or {}
    waiting = [each.get("state", {}).get("waiting") or {} for each in status.get("containerStatuses") or ()]
    conditions = [each for each in status.get("conditions") or () if each.get("status") == "False"]
    reasons = [*waiting, *conditions, status]
    why = next((text for each in reasons if (text := each.get("message") or each.get("reason"))), "")
    return status.get("phase") or "Pending", " ".join(why.split())


def _read(pod: Object, uri: str) -> bytes | None:
    """Reads an artifact; see `qtj_report.artifacts.Read`."""
    meta = pod["metadata"]

    async def run(client: ApiClient, namespace: str) -> Executed:
        await client.get(Resource.PODS, namespace, meta["name"])  # the credentials are loaded by the first request
        return await execute(client.transport, namespace, meta["name"], CONTAINER, reading_command(uri))

    ended = on_cluster(run, meta["namespace"])
    if ended.code == NOTHING_THERE:
        return None
    if ended.code:
        why = (ended.errors.strip().splitlines() or [f"exit code {ended.code}"])[-1]
        raise NoAccessError(f"{uri} cannot be read by the service account of the job ({why}): give it that right")
    return ended.output


async def _removed(pod: Object, client: ApiClient, namespace: str) -> None:
    """Removes the pod; where that is refused, a sentence says what is left, and what was read stays good."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
    try:
        await send_json(client.transport, f"/api/v1/namespaces/{namespace}/pods/{name}", {}, Sent("DELETE", body))
    except ApiError as problem:
        if problem.code != _NOT_FOUND:
            left = f"`kubectl delete pod {name} -n {namespace}` removes it, or the end of its job does"
            print_stderr(f"qtj: the pod {name} is left ({problem}): {left}")


def reader_pod(job: Object, name: str) -> Object:
    """Returns the pod.

    It has the image, the service account, the volumes and the variables of the job's replicas, and waits for the
    commands that are run in it. The cluster ends it after ten minutes, whatever becomes of `qtj`, and removes it with
    its job.

    Args:
        job: The job, as the API server has it.
        name: The name of the pod.

    Raises:
        InputError: The template of the job cannot be read.
    """
    try:
        template = read_leniently(job["spec"])[0].template
    except InvalidJob as problem:
        raise InputError(f"{job['metadata']['name']} cannot be read: {problem}") from None
    spec = dict(pod_template(template, {})["spec"])
    main = next(each for each in spec["containers"] if each["name"] == template.spec.main.name)
    reader = {"name": CONTAINER, "command": ["python", "-c", _WAIT], "resources": _RESOURCES}
    spec.pop("initContainers", None)
    spec["containers"] = [reader | {field: main[field] for field in _KEPT if field in main}]
    spec |= {"activeDeadlineSeconds": _SECONDS, "terminationGracePeriodSeconds": 0}
    meta = {"name": name, "namespace": job["metadata"]["namespace"]}
    return with_owner({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, job)


def reading_command(uri: str) -> list[str]:
    """Returns the command that writes the object at an address to stdout."""
    text = resources.files("qtj.report").joinpath("pod_program.py").read_text("utf-8")
    return ["python", "-c", text, uri]
