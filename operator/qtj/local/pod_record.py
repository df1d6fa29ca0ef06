"""The record of a run's pods on this machine: `pods.jsonl` in the folder of the run.

{"type": "MODIFIED", "object": {"metadata": {"name": "qcnn-worker-0", ...}, "spec": {...}, "status": {...}}}

There is one line for each change of a pod, in the form of a watch of the API server. Other commands show the
replicas of a run from it, while it is active and afterwards, and reach them by the port of this machine (`hostPort`)
that stands for a port of the pod.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from qtj.local.store import Change
from qtj_contract.progress_log import append_line
from qtj_contract.whole_file import growing, read_regular
from qtj_operator.api.job import main_container
from qtj_operator.controller.children import PodObject
from qtj_operator.controller.client import Object

__all__ = ["local_port_of", "record_pod", "recorded_pods"]

_NAME = "pods.jsonl"
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "labels")
"""Fields of the metadata that are recorded; of the spec, those that tell where it runs, and not its environment."""


def record_pod(folder: Path, change: Change, ports: Mapping[int, int] | None = None) -> None:
    """Records a change of a pod; it is lost if the disk is full.

    Args:
        folder: The folder of the run.
        change: The change.
        ports: The port of this machine for ports of the pod.
    """
    line = json.dumps({"type": change.type, "object": _essence(change.object, ports or {})})
    with suppress(OSError), growing(folder / _NAME) as record:
        append_line(record, line.encode() + b"\n")


def recorded_pods(folder: Path) -> Sequence[Object]:
    """Returns the last recorded state of each pod, by its name; also of one that was deleted.

    A run of an earlier version has none.
    """
    try:
        lines = read_regular(folder / _NAME).decode(errors="replace").split("\n")
    except OSError:
        return ()
    return list({pod["metadata"]["name"]: pod for line in lines for pod in _pods_in(line)}.values())


def local_port_of(pod: Object, port: int) -> int | None:
    """Returns the port of this machine that stands for a port of a recorded pod; None if it is not recorded."""
    mapped = [each for container in pod["spec"]["containers"] for each in container.get("ports") or ()]
    return next((each["hostPort"] for each in mapped if each["containerPort"] == port), None)


def _essence(pod: Object, ports: Mapping[int, int]) -> Object:
    meta, spec = pod["metadata"], pod["spec"]
    containers: list[dict[str, Any]] = [{"name": each["name"]} for each in spec["containers"]]
    if ports:
        mapped = [{"containerPort": port, "hostPort": here} for port, here in ports.items()]
        main_container(containers)["ports"] = mapped
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
