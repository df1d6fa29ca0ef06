"""Reads angles and labels from an npz or CSV file, without checks of their values."""

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_contract.printable import reason_of
from qtj_trainer.errors import UserError

__all__ = ["Table", "read_csv", "read_npz"]

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
