"""A user's own examples of angles and labels, in one file.

    examples.npz    angles  (examples, qubits), in radians      labels  (examples,)
    examples.csv    a row for each example: its angles, then its label; or the column that the header calls "label"

Labels are -1 and +1, or 0 and 1, where 0 means -1. Errors in a file are reported before TensorFlow is loaded, each with
its position in the file.
"""

import csv
import hashlib
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

import qtj_contract as contract
from qtj_contract.printable import reason_of
from qtj_trainer.errors import UserError
from qtj_trainer.storage import MissingObjectError, read_uri

__all__ = ["SUFFIXES", "OwnData", "own_data", "read_npz", "split_rows"]

SUFFIXES = (".npz", ".csv")
"""Suffixes of such files, in lower or upper case."""

_FEWEST = 2
"""Examples of a class, at least: one for training, and one for the held-out set."""

_ARRAYS = ("angles", "labels")
_NPZ = f"it must hold the arrays {' and '.join(_ARRAYS)}, as numpy.savez writes them"
_CSV = "it must be text in UTF-8, with a row of numbers for each example, separated by commas"
_LABEL = "label"
_NUMBERING = re.compile(r"id|index|unnamed: \d+")
"""Names of columns with row numbers; pandas writes the last one."""

_Row = tuple[int, list[str]]
"""A line's number, from 1, and its cells."""


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a file.

    Attributes:
        angles: float64 (examples, columns).
        labels: float64 (examples,).
        lines: The line in which each example ends, from 1; None for a file without lines.
    """

    angles: NDArray[np.float64]
    labels: NDArray[np.float64]
    lines: Sequence[int] | None = None

    def place(self, row: int) -> str:
        """Returns the position of an example in the file, for messages."""
        return f"line {self.lines[row]}" if self.lines is not None else f"row {row} (the first is 0)"


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


def read_npz(name: str, data: bytes) -> Table:
    """Decodes the arrays `angles` and `labels`.

    Args:
        name: Name of the file in messages.
        data: The file.

    Raises:
        UserError: If it is not an npz file with these arrays.
    """
    angles, labels = (_real(name, each, array) for each, array in _arrays(name, data).items())
    if angles.ndim != 2 or labels.shape != angles.shape[:1]:
        raise UserError(
            f"{name} has angles of shape {angles.shape} and labels of shape {labels.shape}: they must be"
            " (examples, qubits) and (examples,)"
        )
    return Table(angles, labels)


def read_csv(name: str, data: bytes) -> Table:
    """Decodes rows of angles with a label. The label is the column with the header "label", or the last column.

    The first row is a header if one of its cells is "label", or none of them is a number.

    Args:
        name: Name of the file in messages.
        data: The file: UTF-8, with or without a byte order mark.

    Raises:
        UserError: If it is not a CSV file of numbers with equal rows.
    """
    rows = _rows(name, data)
    _, first = begin = next(rows, (0, []))
    if len(first) < 2:
        raise UserError(f"{name} {'has a single column' if first else 'is empty'}: {_CSV}")
    is_header = _LABEL in _lower(first) or not any(map(_is_number, first))
    label = _label_column(name, first) if is_header else len(first) - 1
    numbers, lines = array("d"), array("Q")
    for line, cells in rows if is_header else chain([begin], rows):
        if len(cells) != len(first):
            raise UserError(
                f"{name}, line {line} has {len(cells)} columns and the first row has {len(first)}: all rows must have"
                " the same number"
            )
        numbers.extend(_number(name, line, column, cell) for column, cell in enumerate(cells))
        lines.append(line)
    values = np.frombuffer(numbers, np.float64).reshape(-1, len(first)) if numbers else np.empty((0, len(first)))
    return Table(np.delete(values, label, axis=1), values[:, label], lines)


def _arrays(name: str, data: bytes) -> dict[str, Any]:
    try:
        arrays = _decoded(data)
    except Exception as problem:  # the decoders of a damaged archive raise many kinds of errors
        raise UserError(f"{name} cannot be read ({reason_of(problem)}): {_NPZ}") from problem
    if arrays is None:
        raise UserError(f"{name} is a single array: {_NPZ}")
    if any(each not in arrays for each in _ARRAYS):
        raise UserError(f"{name} holds {', '.join(arrays) or 'nothing'}: {_NPZ}")
    return {each: arrays[each] for each in _ARRAYS}


def _decoded(data: bytes) -> dict[str, Any] | None:
    """Returns the arrays of an archive by name, with None for those that are not needed; None for a single array."""
    file = np.load(io.BytesIO(data), allow_pickle=False)
    if not isinstance(file, np.lib.npyio.NpzFile):
        return None
    with file:
        return {each: file[each] if each in _ARRAYS else None for each in file.files}


def _real(name: str, what: str, values: NDArray[Any]) -> NDArray[np.float64]:
    if not isinstance(values, np.ndarray):  # bytes, for a member that is not an array
        raise UserError(f"{name} has {what} that are no array: {_NPZ}")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{name} has {what} of type {values.dtype}: they must be real numbers")
    return values.astype(np.float64)


def _rows(name: str, data: bytes) -> Iterator[_Row]:
    """Yields the rows that are not empty."""
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except (UnicodeDecodeError, csv.Error) as problem:
        raise UserError(f"{name} cannot be read ({problem}): {_CSV}") from problem


def _lower(cells: list[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _label_column(name: str, header: list[str]) -> int:
    names = _lower(header)
    if not all(names):
        raise UserError(
            f"{name} has no name for column {names.index('') + 1} in its header: name it, or leave out a"
            " column of row numbers"
        )
    for each in filter(_NUMBERING.fullmatch, names):
        raise UserError(
            f"{name} has a column called {each!r}, and each column but the label's is an angle: leave out a column of"
            " row numbers, or give it another name"
        )
    if names.count(_LABEL) > 1:
        raise UserError(f"{name} has several columns called {_LABEL!r}: keep one")
    return names.index(_LABEL) if _LABEL in names else len(names) - 1


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(name: str, line: int, column: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError as problem:
        raise UserError(
            f"{name}, line {line} has {cell.strip()[:30]!r} in column {column + 1}: it must be a number"
        ) from problem
