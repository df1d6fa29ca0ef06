"""The record of a run's pods on this machine: `pods.jsonl` in the folder of the run.

{"type": "MODIFIED", "object": {"metadata": {"name": "qcnn-worker-0", ...}, "spec": {...}, "status": {...}}}

There is one line for each change of a pod, in the form of a watch of the API server. Other commands show the
replicas of a run from it, while it is active and afterwards.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from qtj.local.store import Change
from qtj_contract.progress_log import append_line
from qtj_operator.controller.children import PodObject
from qtj_operator.controller.client import Object

__all__ = ["record_pod", "recorded_pods"]

_NAME = "pods.jsonl"
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "labels")
"""Fields of the metadata that are recorded; of the spec, those that tell where it runs, and not its environment."""


def record_pod(folder: Path, change: Change) -> None:
    """Records a change of a pod; it is lost if the disk is full."""
    line = json.dumps({"type": change.type, "object": _essence(change.object)})
    with suppress(OSError), (folder / _NAME).open("ab+") as record:
        append_line(record, line.encode() + b"\n")


def recorded_pods(folder: Path) -> Sequence[Object]:
    """Returns the last recorded state of each pod, by its name; also of one that was deleted.

    A run of an earlier version has none.
    """
    try:
        lines = (folder / _NAME).read_text("utf-8", errors="replace").split("\n")
    except OSError:
        return ()
    return list({pod["metadata"]["name"]: pod for line in lines for pod in _pods_in(line)}.values())


def _essence(pod: Object) -> Object:
    meta, spec = pod["metadata"], pod["spec"]
    containers = [{"name": each["name"]} for each in spec["containers"]]
    return {
        "metadata": {name: meta[name] for name in _KEPT if name in meta},
        "spec": {"containers": containers, **({"nodeName": spec["nodeName"]} if "nodeName" in spec else {})},
        "status": pod.get("status") or {},
    }


def _pods_in(line: str) -> Iterator[Object]:
    """Yields the pod of one line; none if the line is damaged, for example because the disk was full."""
    with suppress(ValueError, RecursionError, TypeError, KeyError):
        pod: Object = json.loads(line)["object"]
        PodObject.model_validate(pod)
        yield pod
