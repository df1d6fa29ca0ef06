"""The objects a training leaves, and how to find them again.

<artifacts>/weights/1f3c0a9e2b77.h5      the weights, named by their digest: never overwritten by others
<artifacts>/weights/1f3c0a9e2b77.json    the record: all one needs to check or repeat them
<artifacts>/weights/1f3c0a9e2b77.*       the circuits, see `exported`; the predictions of an inference
<artifacts>/held-out/5ab21c90d3ff.npz    the examples the training never saw
<artifacts>/result.json                  written last: this job has finished, with these weights

What these files say of others is relative to <artifacts>, so that the folder can be moved or copied whole. In memory,
and in what the operator is told, addresses are absolute.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, get_origin, get_type_hints

import numpy as np

import qtj_contract as contract
from qtj_trainer.errors import UserError, reason_of
from qtj_trainer.storage import MissingObjectError, Store, read_uri
from qtj_trainer.workloads import Arrays

__all__ = ["Address", "Record", "Result", "arrays_from_bytes", "arrays_to_bytes", "read_verified", "store_object"]

_DIGITS = 12
_RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class Address:
    """Where an object is and what its bytes must be."""

    uri: str
    sha256: str

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The reproducibility record beside the weights: all one needs to check or repeat them.

    Attributes:
        workload: Name of the workload.
        options: Its options, seed included.
        fingerprint: Digest of the model's structure.
        weights_sha256: Digest of the weights.
        held_out: The examples to judge the weights by.
        metrics: What the training measured on them.
        versions: Of Python and the libraries that decide the numbers.
        image: The container image, empty outside of one.
        cluster: TF_CONFIG's cluster, empty for one process.
        job: Name of the job.
        attempt: Its attempt.
        circuits: The files of each circuit with its learned angles, relative to the artifacts, by the layers' names.
        epoch: The epoch after which the weights were these; 0 in a record of an earlier version.
    """

    workload: str
    options: dict[str, Any]
    fingerprint: str
    weights_sha256: str
    held_out: Address
    metrics: dict[str, float]
    versions: dict[str, str]
    image: str
    cluster: dict[str, list[str]]
    job: str
    attempt: str
    circuits: dict[str, list[str]] = field(default_factory=dict)
    epoch: int = 0

    def __post_init__(self) -> None:
        _check_types(self)

    @classmethod
    def beside(cls, weights_uri: str) -> Self:
        """Reads the record of stored weights.

        Raises:
            UserError: If there is none, or it cannot be understood.
        """
        uri = _record_name(weights_uri)
        try:
            said = json.loads(read_uri(uri))
            examples, weights_sha256 = said.pop("heldOut"), said.pop("weightsSha256")
            held_out = Address(_absolute(_artifacts_of(weights_uri), examples["uri"]), examples["sha256"])
            return cls(held_out=held_out, weights_sha256=weights_sha256, **said)
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise UserError(f"{uri} is not a record of this version of the trainer: train again") from problem

    def store(self, store: Store, weights_name: str) -> None:
        """Writes the record beside its weights."""
        said = asdict(self)
        said["heldOut"], said["weightsSha256"] = said.pop("held_out"), said.pop("weights_sha256")
        said["heldOut"]["uri"] = _relative(_root(store), self.held_out.uri)
        store.write(_record_name(weights_name), _json(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The marker that a job has finished its training.

    Attributes:
        job_uid: Which job; another one of the same name trains anew.
        weights: What it trained.
        metrics: Its final numbers.
        progress: How far it came.
        epoch: The epoch whose weights and numbers these are; 0 where it was not said.
        last_weights: Those of the last epoch, which are others than `weights` where an earlier epoch was the best.
    """

    job_uid: str
    weights: contract.Weights
    metrics: dict[str, float]
    progress: contract.Progress | None = None
    epoch: int = 0
    last_weights: contract.Weights | None = None

    @classmethod
    def latest(cls, store: Store) -> Self:
        """Returns the result of whichever job finished last.

        Raises:
            MissingObjectError: If none has.
            UserError: If the marker cannot be understood.
        """
        try:
            said = json.loads(store.read(_RESULT))
            last = said.get("lastWeights")
            return cls(
                job_uid=said["jobUid"],
                weights=_weights(store, said["weights"]),
                metrics=said["metrics"],
                progress=contract.Progress.from_dict(said.get("progress")),
                epoch=int(said.get("epoch", 0)),
                last_weights=_weights(store, last) if last else None,
            )
        except (ValueError, TypeError, KeyError) as problem:
            raise UserError(f"{store.uri(_RESULT)} is not the result of a training: delete it") from problem

    @classmethod
    def of_job(cls, store: Store, job_uid: str) -> Self | None:
        """Returns the result of this very job if it has finished before; without an identity it has not."""
        try:
            latest = cls.latest(store)
        except MissingObjectError:
            return None
        return latest if job_uid and latest.job_uid == job_uid else None

    def store(self, store: Store) -> None:
        """Writes the marker."""
        said: dict[str, Any] = {
            "jobUid": self.job_uid,
            "weights": _weights_said(store, self.weights),
            "metrics": self.metrics,
            "progress": self.progress.to_dict() if self.progress else None,
        }
        if self.epoch:
            said["epoch"] = self.epoch
        if self.last_weights:
            said["lastWeights"] = _weights_said(store, self.last_weights)
        store.write(_RESULT, _json(said))

    def message(self) -> contract.TerminationMessage:
        """Says the result to the operator."""
        return contract.TerminationMessage(weights=self.weights, metrics=self.metrics, progress=self.progress)


def store_object(store: Store, folder: str, suffix: str, data: bytes) -> tuple[str, Address]:
    """Stores bytes under their own digest.

    Returns:
        The object's name and its address.
    """
    digest = hashlib.sha256(data).hexdigest()
    name = f"{folder}/{digest[:_DIGITS]}.{suffix}"
    store.write(name, data)
    return name, Address(store.uri(name), digest)


def read_verified(address: Address) -> bytes:
    """Reads bytes and checks that they are the ones meant.

    Raises:
        UserError: If they are not.
    """
    data = read_uri(address.uri)
    digest = hashlib.sha256(data).hexdigest()
    if digest != address.sha256:
        raise UserError(
            f"{address.uri} has sha256 {digest[:_DIGITS]}... where {address.sha256[:_DIGITS]}... was stored: it was"
            " changed since, so train again or restore it"
        )
    return data


def arrays_to_bytes(arrays: Arrays) -> bytes:
    """Encodes columns as npz; equal columns give equal bytes.

    They are those of `np.savez`, which takes columns as keyword arguments: none may be named as one of its own.

    Raises:
        ValueError: If a column holds objects.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as columns:
        for name, values in arrays.items():
            with columns.open(f"{name}.npy", "w", force_zip64=True) as column:
                np.lib.format.write_array(column, np.asanyarray(values), allow_pickle=False)  # type: ignore[no-untyped-call]
    return file.getvalue()


def arrays_from_bytes(data: bytes) -> Arrays:
    """Decodes columns, refusing pickled objects.

    Raises:
        ValueError: If the bytes are no such columns, or are damaged.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as columns:
            return dict(columns)
    except Exception as problem:  # a damaged archive raises whatever its many decoders come upon
        raise ValueError(f"it cannot be read as an archive of arrays ({reason_of(problem)})") from problem


def _check_types(made: Address | Record) -> None:
    """Raises TypeError where a field is of another type: a record may have been edited by hand."""
    for name, hint in get_type_hints(type(made)).items():
        if not isinstance(getattr(made, name), get_origin(hint) or hint):
            raise TypeError(f"{name} is {getattr(made, name)!r}")


def _weights(store: Store, said: dict[str, str]) -> contract.Weights:
    return contract.Weights(uri=_absolute(_root(store), said["uri"]), sha256=said["sha256"])


def _weights_said(store: Store, weights: contract.Weights) -> dict[str, str]:
    return {"uri": _relative(_root(store), weights.uri), "sha256": weights.sha256}


def _root(store: Store) -> str:
    return store.uri("x").removesuffix("/x")


def _artifacts_of(weights: str) -> str:
    """Returns the root that weights are stored below."""
    uri = weights if "://" in weights else Path(weights).absolute().as_uri()
    return uri.rsplit("/", 2)[0]


def _relative(root: str, uri: str) -> str:
    return uri.removeprefix(f"{root}/")


def _absolute(root: str, uri: str) -> str:
    """Reverses `_relative`; files of earlier versions name absolute addresses."""
    return uri if "://" in uri else f"{root}/{uri}"


def _record_name(weights: str) -> str:
    return weights.removesuffix(".h5") + ".json"


def _json(said: dict[str, Any]) -> bytes:
    return json.dumps(said, indent=1, sort_keys=True).encode()
