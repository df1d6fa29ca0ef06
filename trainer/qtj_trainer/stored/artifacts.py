"""The objects that a training stores, and how to find them.

<artifacts>/weights/1f3c0a9e2b77.h5      the weights, named by their digest: other weights never overwrite them
<artifacts>/weights/1f3c0a9e2b77.json    the record: all that is needed to check or repeat them
<artifacts>/weights/1f3c0a9e2b77.*       the circuits, see `exported`; the predictions of an inference
<artifacts>/held-out/5ab21c90d3ff.npz    the held-out set: examples that were not used for training
<artifacts>/result.json                  written last: this job has finished, with these weights

Addresses in these files are relative to <artifacts>, so that the whole folder can be moved or copied. In memory, and in
messages to the operator, addresses are absolute.
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
from qtj_contract.printable import reason_of
from qtj_contract.values import decoded
from qtj_trainer.errors import UserError
from qtj_trainer.storage import MissingObjectError, Store, read_uri
from qtj_trainer.workloads import Arrays

__all__ = ["Address", "Record", "Result", "arrays_from_bytes", "arrays_to_bytes", "read_verified", "store_object"]

_DIGITS = 12
_RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class Address:
    """Where an object is, and the digest that its bytes must have."""

    uri: str
    sha256: str

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The reproducibility record beside the weights: all that is needed to check or repeat them.

    Attributes:
        workload: Name of the workload.
        options: Its options, with the seed.
        fingerprint: Digest of the model's structure.
        weights_sha256: Digest of the weights.
        held_out: The held-out set, on which the weights are evaluated.
        metrics: The final metrics of the training.
        versions: Versions of Python and of the libraries that affect the numbers.
        image: The container image; empty outside of a container.
        cluster: The cluster of TF_CONFIG; empty for one process.
        job: Name of the job.
        attempt: Its attempt.
        circuits: By the name of the layer, the files of its circuit with the learned angles, relative to the artifacts.
        epoch: The epoch after which the weights were stored; 0 in a record of an earlier version.
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
    def of_weights(cls, weights_uri: str) -> Self:
        """Reads the record of stored weights.

        Raises:
            UserError: If there is no record, or it cannot be read.
        """
        uri = _record_name(weights_uri)
        try:
            fields = decoded(read_uri(uri))
            examples, weights_sha256 = fields.pop("heldOut"), fields.pop("weightsSha256")
            held_out = Address(_absolute(_artifacts_of(weights_uri), examples["uri"]), examples["sha256"])
            return cls(held_out=held_out, weights_sha256=weights_sha256, **fields)
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise UserError(f"{uri} is not a record of this version of the trainer: train again") from problem

    def store(self, store: Store, weights_name: str) -> None:
        """Writes the record beside its weights."""
        fields = asdict(self)
        fields["heldOut"], fields["weightsSha256"] = fields.pop("held_out"), fields.pop("weights_sha256")
        fields["heldOut"]["uri"] = _relative(_root(store), self.held_out.uri)
        store.write(_record_name(weights_name), _json(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The marker that a job has finished its training.

    Attributes:
        job_uid: `QTJ_JOB_UID` of the job. Another job of the same name trains from the start.
        weights: The trained weights.
        metrics: The final metrics.
        progress: The progress at the end.
        epoch: The epoch of these weights and metrics; 0 if it was not recorded.
        last_weights: The weights of the last epoch, if training had early stopping; None otherwise.
        settings: Digest of the options and the data; empty if they were not recorded.
        warning: One sentence about what was asked for and not done; empty if there is none.
    """

    job_uid: str
    weights: contract.Weights
    metrics: dict[str, float]
    progress: contract.Progress | None = None
    epoch: int = 0
    last_weights: contract.Weights | None = None
    settings: str = ""
    warning: str = ""

    @classmethod
    def latest(cls, store: Store) -> Self:
        """Returns the result of the job that finished last.

        Raises:
            MissingObjectError: If no job has finished.
            UserError: If the marker cannot be read.
        """
        try:
            fields = decoded(store.read(_RESULT))
            last = fields.get("lastWeights")
            return cls(
                job_uid=fields["jobUid"],
                weights=_weights(store, fields["weights"]),
                metrics=fields["metrics"],
                progress=contract.Progress.from_dict(fields.get("progress")),
                epoch=int(fields.get("epoch", 0)),
                last_weights=_weights(store, last) if last else None,
                settings=fields.get("settings", ""),
                warning=fields.get("warning", ""),
            )
        except (ValueError, TypeError, KeyError) as problem:
            raise UserError(f"{store.uri(_RESULT)} is not the result of a training: delete it") from problem

    @classmethod
    def of_job(cls, store: Store, job_uid: str) -> Self | None:
        """Returns the result of this job if it has finished; None otherwise, or if the uid is empty."""
        try:
            latest = cls.latest(store)
        except MissingObjectError:
            return None
        return latest if job_uid and latest.job_uid == job_uid else None

    def store(self, store: Store) -> None:
        """Writes the marker."""
        fields: dict[str, Any] = {
            "jobUid": self.job_uid,
            "weights": _weights_fields(store, self.weights),
            "metrics": self.metrics,
            "progress": self.progress.to_dict() if self.progress else None,
        }
        if self.epoch:
            fields["epoch"] = self.epoch
        if self.last_weights:
            fields["lastWeights"] = _weights_fields(store, self.last_weights)
        if self.settings:
            fields["settings"] = self.settings
        if self.warning:
            fields["warning"] = self.warning
        store.write(_RESULT, _json(fields))

    def obstacle(self, store: Store, settings: str, epochs: int = 0) -> str | None:
        """Returns why the job has to train again although it has this result; None if the result can be used.

        A job with `reusePolicy: SameSpec` may be created again long after it has trained.

        Args:
            store: The store with the result. Weights in other places are not looked for.
            settings: Digest of the options and the data of this run; empty if they are not known.
            epochs: The epochs that are asked for, where a finished training can be continued; 0 where it cannot.

        Raises:
            UserError: If the store refuses to list the weights.
            TryAgainError: If it does not answer.
        """
        if self.settings and settings and self.settings != settings:
            return "its options or its data have changed"
        if self.progress and self.progress.epochs and self.progress.epochs < epochs:
            return f"it has trained {self.progress.epochs} of the {epochs} epochs that are asked for now"
        name = _relative(_root(store), self.weights.uri)
        is_there = "://" in name or name in store.list(name.rpartition("/")[0])
        return None if is_there else f"{self.weights.uri} does not exist"

    def message(self, report: str = "") -> contract.TerminationMessage:
        """Returns the termination message for the operator, with the address of the report if there is one."""
        return contract.TerminationMessage(
            weights=self.weights,
            metrics=self.metrics,
            progress=self.progress,
            report=report or None,
            warning=self.warning or None,
        )


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
    """Reads an object and checks its digest.

    Raises:
        UserError: If the digest is another one.
    """
    data = read_uri(address.uri)
    digest = hashlib.sha256(data).hexdigest()
    if digest != address.sha256:
        raise UserError(
            f"{address.uri} has sha256 {digest[:_DIGITS]}..., and {address.sha256[:_DIGITS]}... was stored: it was"
            " changed since then, so restore it or train again"
        )
    return data


def arrays_to_bytes(arrays: Arrays) -> bytes:
    """Encodes columns as npz; equal columns give equal bytes.

    The bytes are those of `np.savez`. That function takes columns as keyword arguments, so a column could not have the
    name of one of its parameters.

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
        ValueError: If the bytes are not an npz archive, or are damaged.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as columns:
            return dict(columns)
    except Exception as problem:  # the decoders of a damaged archive raise many kinds of errors
        raise ValueError(f"it cannot be read as an archive of arrays ({reason_of(problem)})") from problem


def _check_types(made: Address | Record) -> None:
    """Raises TypeError if a field has another type: a record may have been edited by hand."""
    for name, hint in get_type_hints(type(made)).items():
        if not isinstance(getattr(made, name), get_origin(hint) or hint):
            raise TypeError(f"{name} is {getattr(made, name)!r}")


def _weights(store: Store, fields: dict[str, str]) -> contract.Weights:
    return contract.Weights(uri=_absolute(_root(store), fields["uri"]), sha256=fields["sha256"])


def _weights_fields(store: Store, weights: contract.Weights) -> dict[str, str]:
    return {"uri": _relative(_root(store), weights.uri), "sha256": weights.sha256}


def _root(store: Store) -> str:
    return store.uri("x").removesuffix("/x")


def _artifacts_of(weights: str) -> str:
    """Returns the folder of the artifacts that weights belong to."""
    uri = weights if "://" in weights else Path(weights).absolute().as_uri()
    return uri.rsplit("/", 2)[0]


def _relative(root: str, uri: str) -> str:
    return uri.removeprefix(f"{root}/")


def _absolute(root: str, uri: str) -> str:
    """Reverses `_relative`. Files of earlier versions have absolute addresses."""
    return uri if "://" in uri else f"{root}/{uri}"


def _record_name(weights: str) -> str:
    return weights.removesuffix(".h5") + ".json"


def _json(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, indent=1, sort_keys=True).encode()
