"""`qtj report --scaling`: throughput by devices, as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path

from qtj.report.files import report_written
from qtj.report.scaling import Scale, Scaling
from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_contract.whole_file import write_whole
from qtj_report.chart import Chart, point_chart
from qtj_report.picture import picture

__all__ = ["report_scaling", "scaling_charts"]

_PICTURE = "scaling.svg"
_HEADINGS = ("RUN", "WORKERS", "DEVICES", "EXAMPLES/S", "SPEED-UP", "EFFICIENCY", "EPOCHS")


def report_scaling(found: Scaling, folder: Path) -> str:
    """Writes scaling.txt and scaling.svg into a folder; returns the text.

    Raises:
        InputError: The folder cannot be written to.
    """
    text = "\n".join([columns([_HEADINGS, *map(_row, found.scales)]), *found.notes])
    with report_written(folder.absolute()):
        write_whole(folder / "scaling.txt", f"{text}\n".encode())
        write_whole(folder / _PICTURE, picture("Scaling", scaling_charts(found.scales)).encode())
    return f"{text}\npicture: {folder / _PICTURE}"


def scaling_charts(scales: Sequence[Scale]) -> Sequence[Chart]:
    """Returns throughput and efficiency against devices."""
    most = max(each.devices for each in scales)
    best = scales[0].examples_per_second / scales[0].speed_up / scales[0].devices
    throughput = [(each.run, (float(each.devices), each.examples_per_second)) for each in scales]
    efficiency = [("", (float(each.devices), each.efficiency)) for each in scales]
    ideal = [(0.0, 0.0), (float(most), best * most)]
    return [
        point_chart("Throughput", ("devices", "training examples per second"), throughput, ideal),
        point_chart(
            "Efficiency", ("devices", "share of the ideal throughput"), efficiency, [(0.0, 1.0), (float(most), 1.0)]
        ),
    ]


def _row(each: Scale) -> Sequence[str]:
    counts = (str(each.workers), str(each.devices))
    return (
        each.run,
        *counts,
        in_digits(each.examples_per_second),
        f"{each.speed_up:.2f}",
        _share(each),
        str(each.epochs),
    )


def _share(each: Scale) -> str:
    return f"{100 * each.efficiency:.0f} %"
