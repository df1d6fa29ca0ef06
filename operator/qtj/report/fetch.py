"""`qtj fetch`: what a job of a cluster has stored, copied to this machine by the rights of the user, or of the job."""

import asyncio
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import resources
from pathlib import Path

from qtj.cluster.connection import on_cluster
from qtj.cluster.pod_channels import Executed, execute
from qtj.cluster.request import Sent, send_json
from qtj.report.cluster import cluster_content, read_cluster_job
from qtj.report.pod_program import NOTHING_THERE
from qtj.report.stored import read_any, recorded_weights, stored_if_any, stored_weights
from qtj.runs.folders import PAGE
from qtj.script.objects import with_owner
from qtj.terminal.errors import InputError
from qtj.terminal.streams import print_stderr
from qtj_contract.beside import beside
from qtj_contract.predictions import predictions_uri
from qtj_contract.whole_file import write_whole
from qtj_operator.api.reading import InvalidJob, read_leniently, read_status
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object, Resource
from qtj_operator.manifests.pod import pod_template
from qtj_report.artifacts import NoAccessError, Read
from qtj_report.page import run_page

__all__ = ["fetch_cluster_job", "reader_pod", "reading_through_pod"]

_START_SECONDS = 120.0
_PERIOD_SECONDS = 1.0
_NOT_FOUND = 404
CONTAINER = "reader"
_SECONDS = 600
_WAIT = f"import time; time.sleep({_SECONDS})"
_KEPT = ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts", "volumeDevices", "securityContext")
"""What it has of the main container: nothing of what only a training needs, such as GPUs, ports and probes."""
_RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}


def fetch_cluster_job(job: str, namespace: str | None, to: Path | None, *, through_pod: bool = False) -> Sequence[str]:
    """Copies weights, what is beside them, and the report; nothing is written unless all of it could be read.

    Args:
        job: Its name.
        namespace: Its namespace; None for that of the current context.
        to: The folder; None for JOB-results in the current one.
        through_pod: Whether a pod of the job reads it, and not the user.

    Returns:
        A line for each file: what it is, and its path.

    Raises:
        InputError: There is no such job or no cluster, it has no weights, or something cannot be read or written.
    """
    raw, events, now = read_cluster_job(job, namespace)
    recorded = recorded_weights(job, read_status(raw).weights)
    with _reading(raw, through_pod=through_pod) as read:
        weights = stored_weights(job, recorded, read)
        files = {("weights", weights.name): weights.data, **dict(_beside(weights.uri, read))}
        page = run_page(cluster_content(raw, events, now, read), now)
    return list(_written({**files, ("report", PAGE): page.encode()}, to or Path(f"{job}-results")))


def _reading(job: Object, *, through_pod: bool) -> AbstractContextManager[Read]:
    return reading_through_pod(job) if through_pod else nullcontext(read_any)


def _beside(weights: str, read: Read) -> Iterator[tuple[tuple[str, str], bytes]]:
    """Yields what is stored beside weights: its kind and the name of its file, and its bytes."""
    known = {
        "predictions": predictions_uri(weights),
        "record": beside(weights, ".json"),
        "circuit": beside(weights, ".txt"),
    }
    for kind, uri in known.items():
        data = stored_if_any(uri, read)
        if data is not None:
            yield (kind, uri.rpartition("/")[2]), data


def _written(files: Mapping[tuple[str, str], bytes], folder: Path) -> Iterator[str]:
    for (kind, name), data in files.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, data)
        except OSError as problem:
            what = f"cannot write {folder / name} ({problem.strerror})"
            raise InputError(f"{what}: make room, or name another folder with --to") from None
        yield f"{kind}: {folder / name}"


@contextmanager
def reading_through_pod(job: Object, patience: float = _START_SECONDS) -> Iterator[Read]:
    """Yields what reads the artifacts of a job with the rights of the job.

    A pod is created, commands in it read, and it is removed in any case.

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
