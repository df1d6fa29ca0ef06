"""Rows that pandas takes as they are: `pandas.DataFrame(table)`. Nothing here needs pandas."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from qtj.terminal.text import columns, visible

__all__ = ["Table"]

_SHOWN = 20
"""Rows of a text and of a cell of a notebook: of a longer table, the last ones."""


class Table(list[dict[str, Any]]):
    """A list of rows, each a dictionary with the same columns.

    Attributes:
        notes: Sentences about what could not be read.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]] = (), notes: Sequence[str] = ()) -> None:
        known = [dict(row) for row in rows]
        names = dict.fromkeys(name for row in known for name, value in row.items() if value is not None)
        super().__init__({name: row.get(name) for name in names} for row in known)
        self.notes = tuple(notes)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns; those without any value are left out."""
        return list(self[0]) if self else []

    def column(self, name: str) -> Sequence[Any]:
        """Returns the values of a column."""
        return [row[name] for row in self]

    def __repr__(self) -> str:
        """Shows the last rows. Names and texts are those of programs, which may not control a terminal."""
        table = columns([self.columns, *self._cells()]) if self else "no rows"
        return visible("\n".join((table, *self.notes)))

    def _repr_html_(self) -> str:
        head, body = _row(self.columns, "th"), "".join(_row(cells, "td") for cells in self._cells())
        return f"<table>{head}{body}</table>" + "".join(f"<p>{escape(note)}</p>" for note in self.notes)

    def _cells(self) -> Sequence[Sequence[str]]:
        return [[_cell(value) for value in row.values()] for row in self[-_SHOWN:]]


def _row(cells: Sequence[str], kind: str) -> str:
    return "<tr>" + "".join(f"<{kind}>{escape(each)}</{kind}>" for each in cells) + "</tr>"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
