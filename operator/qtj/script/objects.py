"""The objects that are made of a program: a job for this machine, and a job with its ConfigMap for a cluster.

They are what a user would write, so no field has a value that it has anyway.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qtj.script.program import Program
from qtj_contract.version import installed_version
from qtj_operator.api.names import KIND, NEWEST_API_VERSION

__all__ = [
    "Identity",
    "Mounted",
    "Resources",
    "Storage",
    "cluster_job",
    "config_map",
    "key_of",
    "local_job",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The metadata of a job.

    Attributes:
        name: Its name.
        namespace: Its namespace; None where there is none.
    """

    name: str
    namespace: str | None = None

    @property
    def fields(self) -> Manifest:
        """The field `metadata`."""
        return {"name": self.name} | ({"namespace": self.namespace} if self.namespace else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """The ConfigMap that pods mount.

    Attributes:
        config_name: Its name.
        paths: The files of the program, as they are to be in its folder.
    """

    config_name: str
    paths: Sequence[str]

    @property
    def fields(self) -> Manifest:
        """Fields of `spec.program`: the keys are listed only where they are not the names of the files."""
        items = [{"key": key_of(path), "path": path} for path in self.paths]
        as_named = all(each["key"] == each["path"] for each in items)
        return {"configMap": self.config_name} | ({} if as_named else {"items": items})


def local_job(program: Program, name: str, workers: int, storage: Storage) -> Manifest:
    """Returns the job that runs a program of this machine, where it is."""
    command = ["python", program.path.name]
    container = {**_container(program, None), "command": command, "workingDir": str(program.folder)}
    return _job(Identity(name=name), program, workers, storage, container)


def cluster_job(
    program: Program, identity: Identity, workers: int, resources: Resources | None, storage: Storage, mounted: Mounted
) -> Manifest:
    """Returns the job that runs a program from a ConfigMap.

    Args:
        program: The program.
        identity: Name and namespace.
        workers: How many workers train.
        resources: What each of them gets; None on this machine, where they share what there is.
        storage: Where results are stored.
        mounted: The ConfigMap.
    """
    container = _container(program, resources.image if resources else None)
    container |= {"resources": resources.fields} if resources else {}
    job = _job(identity, program, workers, storage, container)
    requirements = {"requirements": {"file": program.requirements.name}} if program.requirements else {}
    source = {**mounted.fields, "entry": program.path.name, **requirements}
    job["spec"] = {"program": source, **job["spec"]}
    return job


def key_of(path: str) -> str:
    """Returns the key of a file in a ConfigMap: its path, with _ in place of what a key cannot have."""
    return re.sub(r"[^-._a-zA-Z0-9]", "_", path)


def config_map(identity: Identity, files: Mapping[str, bytes]) -> Manifest:
    """Returns the ConfigMap with the files of a program, by their paths, named by the job and by their content."""
    keys = {key_of(path): data for path, data in files.items()}
    texts = {key: text for key, data in keys.items() if (text := _text(data)) is not None}
    others = {key: base64.b64encode(data).decode() for key, data in keys.items() if key not in texts}
    name = f"{identity.name}-{_digest(files)}"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": Identity(name=name, namespace=identity.namespace).fields,
        "immutable": True,
        **({"data": texts} if texts else {}),
        **({"binaryData": others} if others else {}),
    }


def with_owner(manifest: Mapping[str, Any], job: Mapping[str, Any]) -> Manifest:
    """Returns an object that is deleted with a job."""
    owner = {key: job[key] for key in ("apiVersion", "kind")} | {key: job["metadata"][key] for key in ("name", "uid")}
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}


def _job(identity: Identity, program: Program, workers: int, storage: Storage, container: Manifest) -> Manifest:
    mounts = {"volumeMounts": [*storage.mounts]} if storage.mounts else {}
    volumes = {"volumes": [*storage.volumes]} if storage.volumes else {}
    return {
        "apiVersion": NEWEST_API_VERSION,
        "kind": KIND,
        "metadata": identity.fields,
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
