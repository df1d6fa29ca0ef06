"""Draws a circuit, with time from left to right.

    0  ──[H]──@─────────[rx(x)]──
              │
    1  ──[H]──@────@────[rx(y)]──
                   │
    2  ──[H]───────@─────────────

Gates of one moment whose lines would cross are drawn in neighbouring columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

import cirq
import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

__all__ = ["MOST_GATES", "picture"]

MOST_GATES = 300
"""Gates in a picture, at most: nobody reads more, and its pixels are memory that the training needs."""

_ROW = 40
"""Height of a qubit, in pixels."""

_LETTER = 12
_GAP = 24
_PAD = 4


@dataclass(frozen=True, slots=True)
class _Gate:
    """A gate: its symbol on each of its qubits, by the number of the qubit, from the top."""

    symbols: dict[int, str]

    @property
    def rows(self) -> range:
        """All rows that the gate and its line touch."""
        return range(min(self.symbols), max(self.symbols) + 1)


def picture(circuit: cirq.AbstractCircuit) -> NDArray[np.uint8]:
    """Draws a circuit: its first `MOST_GATES` gates.

    Returns:
        (height, width, 1), from 0 for black to 255 for white.
    """
    qubits = sorted(circuit.all_qubits())
    count = sum(1 for _ in circuit.all_operations())
    title = "" if count <= MOST_GATES else f"the first {MOST_GATES} of {count} gates"
    return _drawn(list(map(str, qubits)), list(_columns(circuit, qubits)), title)


def _columns(circuit: cirq.AbstractCircuit, qubits: list[cirq.Qid]) -> Iterator[list[_Gate]]:
    left = MOST_GATES
    for moment in circuit:
        columns: list[list[_Gate]] = []
        for operation in islice(moment.operations, left):
            gate = _gate(operation, qubits)
            free = (column for column in columns if all(set(gate.rows).isdisjoint(each.rows) for each in column))
            column = next(free, None)
            if column is None:
                columns.append([gate])
            else:
                column.append(gate)
        left -= sum(map(len, columns))
        yield from columns


def _gate(operation: cirq.Operation, qubits: list[cirq.Qid]) -> _Gate:
    asked = cirq.CircuitDiagramInfoArgs(
        known_qubits=operation.qubits,
        known_qubit_count=len(operation.qubits),
        use_unicode_characters=True,
        precision=2,
        label_map=None,
    )
    plain = [str(operation.gate), *["#"] * (len(operation.qubits) - 1)]
    info = cirq.circuit_diagram_info(operation, asked, default=cirq.CircuitDiagramInfo(plain))
    symbols = ["U" if "\n" in each else each for each in info.wire_symbols]  # instead of a matrix
    if info.exponent != 1:
        symbols[-1] += f"^{asked.format_real(info.exponent)}"
    return _Gate({qubits.index(each): symbol for each, symbol in zip(operation.qubits, symbols, strict=True)})


def _drawn(names: list[str], columns: list[list[_Gate]], title: str) -> NDArray[np.uint8]:
    font = _font()
    texts = [names, *([text for gate in column for text in gate.symbols.values()] for column in columns)]
    widths = [max(map(font.getlength, each), default=0) + _GAP for each in texts]
    ends = list(accumulate(widths))
    image = Image.new("L", (round(ends[-1]) + _GAP, (len(names) + 1) * _ROW), "white")
    paper = ImageDraw.Draw(image)
    paper.text((_GAP, _ROW / 3), title, "black", font, anchor="lm")
    for row, name in enumerate(names):
        paper.line([(ends[0], _height(row)), (ends[-1], _height(row))], "black")
        paper.text((ends[0] / 2, _height(row)), name, "black", font, anchor="mm")
    for end, width, column in zip(ends[1:], widths[1:], columns, strict=True):
        for gate in column:
            _draw_gate(paper, gate, end - width / 2, font)
    return np.asarray(image)[..., np.newaxis]


def _draw_gate(paper: ImageDraw.ImageDraw, gate: _Gate, middle: float, font: ImageFont.FreeTypeFont) -> None:
    paper.line([(middle, _height(gate.rows[0])), (middle, _height(gate.rows[-1]))], "black")
    for row, text in gate.symbols.items():
        left, top, right, bottom = paper.textbbox((middle, _height(row)), text, font, anchor="mm")
        paper.rectangle((left - _PAD, top - _PAD, right + _PAD, bottom + _PAD), "white", "black")
        paper.text((middle, _height(row)), text, "black", font, anchor="mm")


def _height(row: int) -> float:
    return (row + 1) * _ROW


def _font() -> ImageFont.FreeTypeFont:
    """Returns the font that Matplotlib brings along: it has the symbols of all gates."""
    return ImageFont.truetype(str(Path(mpl.get_data_path(), "fonts/ttf/DejaVuSans.ttf")), _LETTER)
