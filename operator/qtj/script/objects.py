"""The objects that are made of a program: a job for this machine, and a job with its ConfigMap for a cluster.

They are what a user would write, so no field has a value that it has anyway.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qtj.script.program import Program
from qtj_contract.version import installed_version
from qtj_operator.api.names import KIND, NEWEST_API_VERSION

__all__ = [
    "Resources",
    "Storage",
    "cluster_job",
    "config_map",
    "key_of",
    "local_job",
    "metadata_of",
    "mounted",
    "with_owner",
]

Manifest = dict[str, Any]

_DIGITS = 10
"""Of the digest in the name of a ConfigMap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where a job stores its results.

    Attributes:
        uri: The address.
        volumes: Volumes of the pod that it needs.
        mounts: Where they are mounted.
    """

    uri: str
    volumes: Sequence[Manifest] = ()
    mounts: Sequence[Manifest] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What each worker gets.

    Attributes:
        image: The image; None for that of the trainer.
        cpu: The CPU that it requests.
        memory: The memory that it requests, and its limit.
    """

    image: str | None = None
    cpu: str = "250m"
    memory: str = "2Gi"

    @property
    def fields(self) -> Manifest:
        """The field `resources` of a container."""
        return {"requests": {"cpu": self.cpu, "memory": self.memory}, "limits": {"memory": self.memory}}


def metadata_of(name: str, namespace: str | None = None) -> Manifest:
    """Returns the metadata of an object; without a namespace where there is none."""
    return {"name": name} | ({"namespace": namespace} if namespace else {})


def mounted(config_name: str, paths: Iterable[str]) -> Manifest:
    """Returns fields of `spec.program` for the ConfigMap that pods mount.

    The keys are listed only where they are not the names of the files.

    Args:
        config_name: Its name.
        paths: The files of the program, as they are to be in its folder.
    """
    items = [{"key": key_of(path), "path": path} for path in paths]
    as_named = all(each["key"] == each["path"] for each in items)
    return {"configMap": config_name} | ({} if as_named else {"items": items})


def local_job(program: Program, name: str, workers: int, storage: Storage) -> Manifest:
    """Returns the job that runs a program of this machine, where it is."""
    command = ["python", program.path.name]
    container = {**_container(program, None), "command": command, "workingDir": str(program.folder)}
    return _job(metadata_of(name), program, workers, storage, container)


def cluster_job(
    program: Program, meta: Manifest, workers: int, resources: Resources | None, storage: Storage, source: Manifest
) -> Manifest:
    """Returns the job that runs a program from a ConfigMap.

    Args:
        program: The program.
        meta: The metadata, see `metadata_of`.
        workers: How many workers train.
        resources: What each of them gets; None on this machine, where they share what there is.
        storage: Where results are stored.
        source: The ConfigMap, see `mounted`.
    """
    container = _container(program, resources.image if resources else None)
    container |= {"resources": resources.fields} if resources else {}
    job = _job(meta, program, workers, storage, container)
    requirements = {"requirements": {"file": program.requirements.name}} if program.requirements else {}
    source = {**source, "entry": program.path.name, **requirements}
    job["spec"] = {"program": source, **job["spec"]}
    return job


def key_of(path: str) -> str:
    """Returns the key of a file in a ConfigMap: its path, with _ in place of what a key cannot have."""
    return re.sub(r"[^-._a-zA-Z0-9]", "_", path)


def config_map(meta: Manifest, files: Mapping[str, bytes]) -> Manifest:
    """Returns the ConfigMap with the files of a program, by their paths, named by the job and by their content."""
    keys = {key_of(path): data for path, data in files.items()}
    texts = {key: text for key, data in keys.items() if (text := _text(data)) is not None}
    others = {key: base64.b64encode(data).decode() for key, data in keys.items() if key not in texts}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**meta, "name": f"{meta['name']}-{_digest(files)}"},
        "immutable": True,
        **({"data": texts} if texts else {}),
        **({"binaryData": others} if others else {}),
    }


def with_owner(manifest: Mapping[str, Any], job: Mapping[str, Any]) -> Manifest:
    """Returns an object that is deleted with a job."""
    owner = {key: job[key] for key in ("apiVersion", "kind")} | {key: job["metadata"][key] for key in ("name", "uid")}
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}


def _job(meta: Manifest, program: Program, workers: int, storage: Storage, container: Manifest) -> Manifest:
    mounts = {"volumeMounts": [*storage.mounts]} if storage.mounts else {}
    volumes = {"volumes": [*storage.volumes]} if storage.volumes else {}
    return {
        "apiVersion": NEWEST_API_VERSION,
        "kind": KIND,
        "metadata": meta,
        "spec": {
            "artifacts": {"uri": storage.uri},
            **({"inference": {}} if program.evaluates else {}),
            "replicaSpecs": {"Worker": {"replicas": workers}},
            "template": {"spec": {"containers": [{**container, **mounts}], **volumes}},
        },
    }


def _container(program: Program, image: str | None) -> Manifest:
    arguments = [word.replace("$(", "$$(") for word in program.arguments]  # Kubernetes would take it for a variable
    named = {"name": "trainer", "image": image or f"localhost/qtj-trainer:{installed_version()}"}
    return {**named, "args": arguments} if arguments else named


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _digest(files: Mapping[str, bytes]) -> str:
    parts = (f"{name}\0{hashlib.sha256(data).hexdigest()}\n" for name, data in sorted(files.items()))
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:_DIGITS]
