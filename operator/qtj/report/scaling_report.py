"""`qtj report --scaling`: throughput by devices, as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qtj.report.files import report_written, save_picture
from qtj.report.scaling import Scale, Scaling
from qtj.terminal.text import columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["report_scaling", "scaling_figure"]

_HEADINGS = ("RUN", "WORKERS", "DEVICES", "EXAMPLES/S", "SPEED-UP", "EFFICIENCY", "EPOCHS")


def report_scaling(found: Scaling, folder: Path) -> str:
    """Writes scaling.txt and scaling.png into a folder; returns the text.

    Raises:
        InputError: The folder cannot be written to.
    """
    text = "\n".join([columns([_HEADINGS, *map(_row, found.scales)]), *found.notes])
    with report_written(folder.absolute()):
        (folder / "scaling.txt").write_text(f"{text}\n", "utf-8")
        picture = save_picture(lambda: scaling_figure(found.scales), folder / "scaling.png")
    return f"{text}\npicture: {picture}"


def scaling_figure(scales: Sequence[Scale]) -> "Figure":
    """Draws throughput and efficiency against devices.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  optional, and a second to import

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    throughput, efficiency = figure.subplots(1, 2)
    _draw_throughput(throughput, scales)
    _draw_efficiency(efficiency, scales)
    for axes in (throughput, efficiency):
        axes.set(xlabel="devices", xlim=(0, None), ylim=(0, None))
        axes.set_xticks(sorted({each.devices for each in scales}))
    return figure


def _row(each: Scale) -> Sequence[str]:
    counts = (str(each.workers), str(each.devices))
    return each.run, *counts, f"{each.examples_per_second:.4g}", f"{each.speed_up:.2f}", _share(each), str(each.epochs)


def _share(each: Scale) -> str:
    return f"{100 * each.efficiency:.0f} %"


def _draw_throughput(axes: "Axes", scales: Sequence[Scale]) -> None:
    devices = [each.devices for each in scales]
    axes.plot(devices, [each.examples_per_second for each in scales], "o", label="measured")
    best = scales[0].examples_per_second / scales[0].speed_up / devices[0]
    axes.plot([0, max(devices)], [0, best * max(devices)], color="gray", linestyle=":", label="ideal")
    for each in scales:
        axes.annotate(each.run, (each.devices, each.examples_per_second), textcoords="offset points", xytext=(4, 4))
    axes.set(ylabel="training examples per second", title="Throughput")
    axes.legend()


def _draw_efficiency(axes: "Axes", scales: Sequence[Scale]) -> None:
    axes.plot([each.devices for each in scales], [each.efficiency for each in scales], "o", label="measured")
    axes.axhline(1, color="gray", linestyle=":", label="ideal")
    axes.set(ylabel="share of the ideal throughput", title="Efficiency")
    axes.legend()
