"""A user's own examples of angles and labels, in one file.

    examples.npz    angles  (examples, qubits), in radians      labels  (examples,)
    examples.csv    a row for each example: its angles, then its label; or the column that the header calls "label"

Labels are -1 and +1, or 0 and 1, where 0 means -1. Errors in a file are reported before TensorFlow is loaded, each with
its position in the file.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import qtj_contract as contract
from qtj_trainer.errors import UserError
from qtj_trainer.storage import MissingObjectError, read_uri
from qtj_trainer.workloads.table import Table, read_csv, read_npz

__all__ = ["SUFFIXES", "OwnData", "own_data", "split_rows"]

SUFFIXES = (".npz", ".csv")
"""Suffixes of such files, in lower or upper case."""

_FEWEST = 2
"""Examples of a class, at least: one for training, and one for the held-out set."""


@dataclass(frozen=True, slots=True)
class OwnData:
    """Checked examples.

    Attributes:
        angles: float32 (examples, qubits), in radians.
        labels: float32 (examples,), -1 or +1.
        sha256: Digest of the file.
    """

    angles: NDArray[np.float32]
    labels: NDArray[np.float32]
    sha256: str


@lru_cache(maxsize=1)
def own_data(uri: str) -> OwnData:
    """Reads and checks a file of examples, once in a process.

    Args:
        uri: Its address for `read_uri`, which ends in one of `SUFFIXES`.

    Raises:
        UserError: If the file has an error.
        TryAgainError: If its store does not answer.
    """
    try:
        data = read_uri(uri)
    except MissingObjectError as problem:
        raise UserError(f"--data {uri} does not exist: name a file that this process can read") from problem
    table = read_csv(uri, data) if uri.lower().endswith(".csv") else read_npz(uri, data)
    angles, labels = _angles(uri, table), _labels(uri, table)
    return OwnData(angles, labels, hashlib.sha256(data).hexdigest())


def split_rows(labels: NDArray[np.float32], share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draws the same share of each class for training, so that both parts have examples of all classes.

    Args:
        labels: (examples,), each class at least twice.
        share: Share of each class for training; each part gets at least one example.
        seed: Seed of the draw.

    Returns:
        The rows for training and those held out, each in the order of the file.
    """
    random = np.random.default_rng(seed)
    is_training = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        is_training[rows[: max(1, int(share * len(rows)))]] = True
    return np.flatnonzero(is_training), np.flatnonzero(~is_training)


def _angles(uri: str, table: Table) -> NDArray[np.float32]:
    qubits = table.angles.shape[1]
    if not contract.MIN_QUBITS <= qubits <= contract.MAX_QUBITS:
        raise UserError(
            f"{uri} has {_counted(qubits, 'angle')} in each example, one for each qubit: it must be at least"
            f" {contract.MIN_QUBITS} and at most {contract.MAX_QUBITS}"
        )
    with np.errstate(over="ignore"):  # becomes infinite, which is refused below
        angles = table.angles.astype(np.float32)
    for row, column in np.argwhere(~np.isfinite(angles))[:1]:
        raise UserError(
            f"{uri}, {table.place(row)} has {table.angles[row, column]} as angle {column + 1}: it must be a finite"
            " number of radians, in single precision"
        )
    return angles


def _labels(uri: str, table: Table) -> NDArray[np.float32]:
    labels = table.labels
    low = -1 if np.any(labels == -1) else 0
    for row in np.flatnonzero((labels != low) & (labels != 1))[:1]:
        raise UserError(f"{uri}, {table.place(row)} has the label {labels[row]:g}: all must be -1 or 1, or all 0 or 1")
    for label in (low, 1):
        count = np.count_nonzero(labels == label)
        if count < _FEWEST:
            raise UserError(
                f"{uri} has {_counted(count, 'example')} with the label {label}: it must have {_FEWEST} at least, one"
                " for training and one for the held-out set"
            )
    return np.where(labels == 1, 1, -1).astype(np.float32)


def _counted(count: Any, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
