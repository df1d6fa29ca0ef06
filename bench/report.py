"""Tables and plot of what `python -m bench.engine --output FILE` measured: `python -m bench.report FILE FOLDER`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.engine import ratio

_LONG = 1000
_SIZE = ("qubits", "layers", "threads")
NAMES = {
    "fused": "ours", "tfq": "TFQ", "tensorcircuit": "TensorCircuit-ng", "lightning": "Lightning", "qulacs": "qulacs",
}  # fmt: skip


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of a Markdown table: milliseconds of a gradient, and how many times ours."""
    yield from _header("first result", "share of peak")
    for row in rows:
        cells = [_cell(row, name) for name in NAMES]
        first = row["engines"]["fused"]["first_s"]
        share = f"{row['shares']['multiply_add']:.0%}"
        yield _line(row, *cells, f"{first:.2f} s", share)


def memory(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of a Markdown table: the most MiB each held beyond its libraries, and our share of the copy speed."""
    yield from _header("share of copy speed")
    for row in rows:
        held = [row["engines"].get(name) for name in NAMES]
        cells = [f"{one['mib']:,} MiB" if one and one["ms"] else "-" for one in held]
        yield _line(row, *cells, f"{row['shares']['copy']:.0%}")


def _header(*last: str) -> Iterator[str]:
    columns = [*_SIZE, *NAMES.values(), *last]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"


def _line(row: dict[str, Any], *cells: str) -> str:
    return f"| {' | '.join([*(str(row[name]) for name in _SIZE), *cells])} |"


def _cell(row: dict[str, Any], name: str) -> str:
    one = row["engines"].get(name)
    if one is None or "gradient" not in one["ms"]:
        return "-" if one is None else one["lost"]
    milliseconds = one["ms"]["gradient"]
    time = f"{milliseconds:,.0f} ms" if milliseconds >= _LONG else f"{milliseconds:.3g} ms"
    return time if name == "fused" else f"{time} (x{ratio(row, name):.1f})"


def plot(rows: list[dict[str, Any]], file: Path) -> None:
    """Draws the one-thread gradients by qubits, one panel for each depth."""
    from matplotlib.figure import Figure

    depths = sorted({row["layers"] for row in rows})
    figure = Figure(figsize=(5 * len(depths), 4), layout="constrained")
    for axes, layers in zip(figure.subplots(1, len(depths), squeeze=False, sharey=True)[0], depths, strict=True):
        for name, label in NAMES.items():
            points = [
                (row["qubits"], row["engines"][name]["ms"]["gradient"])
                for row in rows
                if (row["layers"], row["threads"]) == (layers, 1) and row["engines"].get(name, {}).get("ms")
            ]
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
        axes.set(yscale="log", xlabel="qubits", title=f"{layers} layer{'s' * (layers > 1)}")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("gradient of one example, ms, one thread")
    figure.axes[0].legend()
    figure.savefig(file, dpi=120)


def main() -> None:
    """Prints the tables and writes engine.png."""
    measured, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    plot(measured["rows"], folder / "engine.png")
    print("\n".join([*table(measured["rows"]), "", *memory(measured["rows"])]))


if __name__ == "__main__":
    main()
