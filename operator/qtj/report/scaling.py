"""How throughput grows with devices: the same training, run on few of them and on many; as a table and as a picture.

progress.jsonl, job.json of each run ──▶ measured ──▶ scaled (against the smallest) ──▶ report_scaling
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qtj.local.progress_log import progress_history
from qtj.report.files import report_written
from qtj.runs.folders import RecordedRun, find_run
from qtj.runs.summary import recorded_runs
from qtj.terminal.errors import InputError
from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_contract.progress_log import EpochRecord
from qtj_contract.whole_file import write_whole
from qtj_operator.api.job import main_container
from qtj_operator.api.names import Role
from qtj_operator.api.spec import Strategy
from qtj_report.chart import Chart, point_chart
from qtj_report.content import steady_epochs, throughput
from qtj_report.picture import picture

__all__ = ["report_scaling", "scaling_charts", "scaling_of"]

_DEVICES = "--devices"
_PICTURE = "scaling.svg"
_HEADINGS = ("RUN", "WORKERS", "DEVICES", "EXAMPLES/S", "SPEED-UP", "EFFICIENCY", "EPOCHS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The throughput of one run.

    Attributes:
        run: Its name.
        workers: Replicas that train.
        devices: Their devices, all together.
        examples_per_second: Training examples per second over all of them: the median of its epochs.
        epochs: How many epochs that is the median of.
        devices_reported: Whether its program reported the number of its devices; otherwise each worker counts as one.
        speed_up: Throughput, relative to that of the smallest run.
        efficiency: Speed-up, relative to the ideal speed-up of its number of devices.
    """

    run: str
    workers: int
    devices: int
    examples_per_second: float
    epochs: int
    devices_reported: bool
    speed_up: float = 1.0
    efficiency: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Returns it as `-o json` prints it."""
        return {
            "run": self.run,
            "workers": self.workers,
            "devices": self.devices,
            "examplesPerSecond": self.examples_per_second,
            "epochs": self.epochs,
            "speedUp": self.speed_up,
            "efficiency": self.efficiency,
        }


@dataclass(frozen=True, slots=True)
class Scaling:
    """The result of a comparison of runs.

    Attributes:
        scales: The runs, the smallest first.
        notes: Sentences on what limits the comparison.
    """

    scales: Sequence[Scale]
    notes: Sequence[str]


def scaling_of(names: Sequence[str]) -> Scaling:
    """Compares runs on this machine by what they have recorded.

    Args:
        names: JOB for all runs of a job, JOB/NUMBER for one of them.

    Raises:
        InputError: There is no such run, or no run has a recorded throughput.
    """
    if not names:
        raise InputError("name the jobs or runs to compare, such as qcnn or qcnn/1: `qtj list` shows them")
    found = {run.name: run for name in names for run in _runs_of(name)}
    measured = {name: scale for name, run in found.items() if (scale := _measured(run))}
    unmeasured = [name for name in found if name not in measured]
    for name in names:
        if not any(run == name or run.startswith(f"{name}/") for run in measured):
            raise InputError(f"{name} has no recorded throughput: {_why_none(found, unmeasured)}")
    scales = _scaled(list(measured.values()))
    return Scaling(scales, list(_notes([found[each.run] for each in scales], scales, unmeasured)))


def _runs_of(name: str) -> Sequence[RecordedRun]:
    return [find_run(name)] if "/" in name else recorded_runs(name)


def _why_none(found: Mapping[str, RecordedRun], unmeasured: Sequence[str]) -> str:
    if any(_epochs(found[name]) for name in unmeasured):
        return "its program reports no examplesPerSecond in its progress, as docs/reference/contract.md describes"
    return "none of its epochs is recorded yet"


def _epochs(run: RecordedRun) -> Sequence[EpochRecord]:
    try:
        return progress_history(run.folder.path).epochs
    except OSError as problem:
        raise InputError(f"the epochs of {run.name} cannot be read ({problem.strerror})") from None


def _measured(run: RecordedRun) -> Scale | None:
    """Returns the throughput of a run; None where its epochs do not report it."""
    steady = steady_epochs(_epochs(run))
    if not steady:
        return None
    devices = steady[-1].devices
    workers = _workers(run.job)
    return Scale(
        run=run.name,
        workers=workers,
        devices=devices or workers,
        devices_reported=devices is not None,
        examples_per_second=throughput(steady),
        epochs=len(steady),
    )


def _workers(job: Mapping[str, Any]) -> int:
    """Returns how many replicas train: under strategy ParameterServer the chief does not."""
    spec = job.get("spec") or {}
    roles = {Role.WORKER} if spec.get("strategy") == Strategy.PARAMETER_SERVER else {Role.CHIEF, Role.WORKER}
    written = spec.get("replicaSpecs") or {}
    return sum((written[role] or {}).get("replicas") or 1 for role in roles & set(written)) or 1


def _scaled(measured: Sequence[Scale]) -> Sequence[Scale]:
    """Compares each run to the smallest one. Of several with the fewest devices, this is the fastest."""
    ordered = sorted(measured, key=lambda each: (each.devices, each.workers, -each.examples_per_second, each.run))
    base = min(ordered, key=lambda each: (each.devices, -each.examples_per_second))
    return [_compared_with(base, each) for each in ordered]


def _compared_with(base: Scale, each: Scale) -> Scale:
    speed_up = each.examples_per_second / base.examples_per_second
    return replace(each, speed_up=speed_up, efficiency=speed_up * base.devices / each.devices)


def _notes(runs: Sequence[RecordedRun], measured: Sequence[Scale], unmeasured: Sequence[str]) -> Iterator[str]:
    if assumed := [each.run for each in measured if not each.devices_reported]:
        yield f"one device is counted for each worker of {', '.join(assumed)}, which did not report their number"
    first, *others = runs
    if different := [run.name for run in others if _workload(run.job) != _workload(first.job)]:
        yield f"other arguments or another circuit than {first.name}, so not comparable: {', '.join(different)}"
    if unmeasured:
        yield f"left out, because no throughput is recorded: {', '.join(unmeasured)}"


def _workload(job: Mapping[str, Any]) -> Any:
    """Returns everything that decides the work of a training, on any number of devices."""
    spec = job.get("spec") or {}
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or [{}]
    main = main_container(containers)
    words = [*(main.get("command") or ()), *(main.get("args") or ())]
    return spec.get("circuit"), list(_without_devices(words))


def _without_devices(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        if _DEVICES not in {before, word} and not word.startswith(f"{_DEVICES}="):
            yield word
        before = word


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
