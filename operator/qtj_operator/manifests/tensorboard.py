"""TensorBoard: a Deployment of one pod that reads the job's curves and profiles, and its Service.

From the leading replica's template the pod gets what reading the artifacts takes, and nothing else: the service
account (unless `spec.tensorboard` names another), the volume with the artifacts, and for a bucket the variables that
clients of Google Cloud Storage read, with the volumes of the files that they name. It gets none of the program's other
variables and Secrets, because everybody who reaches its page could try to read them. Node selectors and tolerations are
those of `spec.tensorboard`, not of the template: TensorBoard outlives the training, and would keep an expensive node.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import chain, count
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from qtj_operator.api.defaults import TENSORBOARD_PORT, TENSORBOARD_RESOURCES
from qtj_operator.api.digest import digest_of
from qtj_operator.api.job import Job
from qtj_operator.api.names import (
    GROUP,
    LABEL_EXPOSED,
    LABEL_PROFILES,
    LABEL_TENSORBOARD,
    tensorboard_name,
    without_reserved,
)
from qtj_operator.api.template import Mount, PodSpec, mount_at, volume_of
from qtj_operator.api.tensorboard import ServiceType, TensorBoard
from qtj_operator.manifests.inherited import inherited_by_volumes
from qtj_operator.manifests.manifest import Manifest, metadata

__all__ = [
    "BUILT",
    "CONTAINER",
    "board_service_spec",
    "deployment_spec",
    "tensorboard_deployment",
    "tensorboard_service",
]

BUILT = f"{GROUP}/built"
"""The annotation of the pod template with a digest of it: the API server completes and rewrites what it stores."""

CONTAINER = "tensorboard"

_TMP, _OWN_VOLUME = "/tmp", "tensorboard-tmp"  # a volume of this pod alone
_VARIABLE = re.compile(r"\$\(([^()]+)\)")

_RELOAD_SECONDS = 15
"""Somewhat more than the time from one copy of the curves to the next: `qtj_trainer.tensorboard.event_files`."""
_STARTS_WITHIN = 60
"""Seconds after which the Deployment reports that its pod does not start: it may wait for an image for ever."""

_FOR_BUCKETS = re.compile(
    r"(GOOGLE|GCLOUD|CLOUDSDK|GCE|GCSFS|FSSPEC)_\w+|STORAGE_EMULATOR_HOST|NO_GCE_CHECK|(HTTPS?|ALL|NO)_PROXY|"
    r"SSL_CERT_(FILE|DIR)|(CURL|REQUESTS)_CA_BUNDLE",
    re.IGNORECASE,
)
"""Variables that google-auth, gcsfs, fsspec, requests and aiohttp read."""

_OF_THE_USER = ("runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "supplementalGroups", "seLinuxOptions")
"""Fields of a security context that decide which files a program can read."""


def tensorboard_deployment(job: Job, board: TensorBoard, image: str) -> Manifest:
    """Returns the Deployment.

    Args:
        job: The job.
        board: Its `spec.tensorboard`.
        image: The image, if `board` names none.
    """
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(job, tensorboard_name(job.name), {}),
        "spec": {
            **deployment_spec(job, board, image),
            "selector": {"matchLabels": _selector(job)},
            "strategy": {"type": "Recreate"},  # a volume may allow only one reader
            "revisionHistoryLimit": 0,
            "progressDeadlineSeconds": _STARTS_WITHIN,
        },
    }


def deployment_spec(job: Job, board: TensorBoard, image: str) -> Manifest:
    """Returns what may change in the Deployment's spec: no pod while the job is suspended, and the pod's template."""
    labels = {
        **job.copied_labels,
        **without_reserved(board.labels or {}),
        **_selector(job),
        "app.kubernetes.io/name": CONTAINER,
        "app.kubernetes.io/part-of": job.name,
        LABEL_PROFILES: "true",
        **({LABEL_EXPOSED: "true"} if board.exposed else {}),
    }
    spec = {**_pod(job, board, image), **_of_the_board(board)}
    annotations = {**_annotations(job), **(board.annotations or {})}
    digest = _digest([labels, spec, *([annotations] if annotations else ())])
    return {
        "replicas": 0 if job.spec.suspend else 1,
        "template": {"metadata": {"labels": labels, "annotations": {**annotations, BUILT: digest}}, "spec": spec},
    }


def tensorboard_service(job: Job, board: TensorBoard) -> Manifest:
    """Returns the Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            **metadata(job, tensorboard_name(job.name), {}),
            **({"annotations": dict(board.service_annotations)} if board.service_annotations else {}),
        },
        "spec": board_service_spec(job, board),
    }


def board_service_spec(job: Job, board: TensorBoard) -> Manifest:
    """Returns the spec of the Service."""
    port = {"name": "http", "port": board.service_port, "targetPort": TENSORBOARD_PORT, "protocol": "TCP"}
    return {
        "type": str(board.service_type or ServiceType.CLUSTER_IP),
        "selector": _selector(job),
        "ports": [port],
    }


def _selector(job: Job) -> dict[str, str]:
    return {LABEL_TENSORBOARD: job.name}


def _annotations(job: Job) -> Mapping[str, Any]:
    template = job.template(job.leader.role)
    volumes = (volume_of(mount, template.spec) for mount in _mounts(job, template.spec))
    return inherited_by_volumes(template.metadata, volumes)


def _pod(job: Job, board: TensorBoard, image: str) -> Manifest:
    source = job.template(job.leader.role).spec
    mounts = tuple(_mounts(job, source))
    own = _own_volume(mounts)
    copied = {
        name: source.written[name] for name in ("serviceAccountName", "imagePullSecrets") if name in source.written
    }
    volumes = {mount.name: deepcopy(dict(volume_of(mount, source).written)) for mount in mounts}
    return {
        **deepcopy(copied),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": _pod_security(source),
        "containers": [_container(job, board, image, mounts, own)],
        "volumes": [*volumes.values(), {"name": own.name, "emptyDir": {}}],
    }


def _of_the_board(board: TensorBoard) -> Manifest:
    """Returns on which nodes the pod may run, before which others, and with which service account."""
    fields = {"node_selector", "tolerations", "priority_class_name", "service_account_name"}
    return board.model_dump(include=fields, by_alias=True, exclude_none=True, mode="json")


def _container(job: Job, board: TensorBoard, image: str, mounts: tuple[Mount, ...], own: "_OwnVolume") -> Manifest:
    return {
        "name": CONTAINER,
        "image": board.image or image,
        "command": ["tensorboard"],
        "args": [
            f"--logdir={_folder(job)}/logs",
            f"--port={TENSORBOARD_PORT}",
            "--bind_all",
            "--load_fast=false",  # the fast reader has a client of its own for buckets, which knows no emulator
            f"--reload_interval={_RELOAD_SECONDS}",
            f"--window_title={job.name}",
        ],
        "env": [{"name": "HOME", "value": own.path}, *_moved(own.path), *_variables(job, _in_paths(mounts))],
        **({"envFrom": sources} if (sources := _config_maps(job)) else {}),
        "ports": [{"name": "http", "containerPort": TENSORBOARD_PORT}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
        "terminationMessagePolicy": "FallbackToLogsOnError",  # its last line says why it has ended
        "resources": deepcopy(TENSORBOARD_RESOURCES)
        if board.resources is None
        else board.resources.model_dump(exclude_none=True),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [*(_mounted(job, mount) for mount in mounts), {"name": own.name, "mountPath": own.path}],
    }


class _OwnVolume(NamedTuple):
    """The volume of this pod alone.

    Attributes:
        name: Its name, which no volume of the user has.
        path: Where it is mounted: in `/tmp`, unless the artifacts or a key are there.
    """

    name: str
    path: str


def _own_volume(mounts: Collection[Mount]) -> _OwnVolume:
    paths = {PurePosixPath(mount.mount_path) for mount in mounts}
    name = _unused(_OWN_VOLUME, {mount.name for mount in mounts if mount.name})
    if PurePosixPath(_TMP) not in paths:
        return _OwnVolume(name, _TMP)
    return _OwnVolume(name, f"/{_unused(_OWN_VOLUME, {path.name for path in paths})}")


def _unused(name: str, taken: Collection[str]) -> str:
    """Returns a name that is not taken: the name itself, or with a number."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in chain((name,), numbered) if each not in taken)


def _moved(own: str) -> list[Manifest]:
    """Returns the variable that names the folder for temporary files, where it is not `/tmp`."""
    return [] if own == _TMP else [{"name": "TMPDIR", "value": own}]


def _in_paths(mounts: Iterable[Mount]) -> set[str]:
    """Returns the names of the variables in the `subPathExpr` of mounts."""
    return {name for mount in mounts for name in _VARIABLE.findall(str(mount.written.get("subPathExpr") or ""))}


def _pod_security(source: PodSpec) -> Manifest:
    """Returns a security context that reads what the trainer's does, but never as root."""
    context = {**source.security_context, **source.main.security_context}
    theirs = {name: context[name] for name in _OF_THE_USER if name in context}
    as_root = theirs.get("runAsUser") == 0
    kept = {name: value for name, value in theirs.items() if not (as_root and name == "runAsUser")}
    return {**deepcopy(kept), "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def _folder(job: Job) -> str:
    """Returns the folder of the artifacts, as TensorBoard reads it: a path, or the address of a bucket."""
    return (_path(job) or job.spec.artifacts.uri).rstrip("/")


def _path(job: Job) -> str | None:
    url = urlsplit(job.spec.artifacts.uri)
    return unquote(url.path) if url.scheme == "file" else None


def _variables(job: Job, named: Collection[str] = ()) -> Iterator[Mapping[str, Any]]:
    """Yields the variables of the program by which a client reads buckets, and those with these names."""
    for variable in job.template(job.leader.role).spec.main.env:
        if variable.name in named or (_path(job) is None and _FOR_BUCKETS.fullmatch(variable.name)):
            yield deepcopy(dict(variable.written))


def _config_maps(job: Job) -> list[Mapping[str, Any]]:
    """Returns the ConfigMaps with variables of the program, which may be among them; Secrets stay with the program."""
    if _path(job) is not None:
        return []
    sources = job.template(job.leader.role).spec.main.env_from
    return [deepcopy(dict(source.written)) for source in sources if source.config_map_ref]


def _mounts(job: Job, source: PodSpec) -> Iterator[Mount]:
    """Yields the mounts of volumes that hold the artifacts, or a file that a variable names."""
    named = (variable.get("value") for variable in _variables(job))
    files = [value for value in (_path(job), *named) if isinstance(value, str) and value.startswith("/")]
    found = {mount.mount_path: mount for file in files if (mount := mount_at(PurePosixPath(file), source.main))}
    yield from found.values()


def _mounted(job: Job, mount: Mount) -> Manifest:
    """Returns a mount: read-only, except for the artifacts, because xprof stores what it computes beside a profile."""
    written = deepcopy(dict(mount.written))
    path = _path(job)
    holds_artifacts = path is not None and PurePosixPath(path).is_relative_to(mount.mount_path)
    return written if holds_artifacts else {**written, "readOnly": True}


def _digest(built: object) -> str:
    return digest_of(built)
