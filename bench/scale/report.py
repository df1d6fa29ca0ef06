"""Medians, the table, the plot, and the line that sums up."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.scale.measure import Round

_COLUMNS = (
    *("size", "who", "rounds", "pods", "running", "processor", "memory", "health", "writes a job", "reads a job"),
    "conflicts",
)


def table(rounds: Sequence[Round]) -> Iterator[str]:
    """Yields the lines of a Markdown table: medians, times in seconds."""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|---" * len(_COLUMNS) + "|"
    for size, subject in dict.fromkeys((each.size, each.subject) for each in rounds):
        group = [each for each in rounds if (each.size, each.subject) == (size, subject)]
        yield f"| {' | '.join((size, subject, str(len(group)), *_cells(group)))} |"


def _cells(group: Sequence[Round]) -> Iterator[str]:
    yield f"{_median(group, 'pods'):.1f}"
    if group[0].running is None:
        yield from "-" * 7
        return
    jobs = int(group[0].size.partition("x")[0])
    yield f"{_median(group, 'running'):.1f}"
    yield f"{_median(group, 'cpu'):.1f}"
    yield f"{_median(group, 'mib'):.0f} MiB"
    yield f"{1000 * _median(group, 'health'):.0f} ms"
    yield f"{_median(group, 'writes') / jobs:.1f}"
    yield f"{_median(group, 'reads') / jobs:.1f}"
    yield f"{_median(group, 'conflicts'):.0f}"


def summary(rounds: Sequence[Round]) -> str:
    """Returns the worst ratios over all sizes."""
    sizes = list(dict.fromkeys(each.size for each in rounds))
    to_floor = max(_of(rounds, "ours", size, "pods") / _of(rounds, "floor", size, "pods") for size in sizes)
    reads = max(_of(rounds, "ours", size, "reads") / int(size.partition("x")[0]) for size in sizes)
    peer = [size for size in sizes if any((each.subject, each.size) == ("peer", size) for each in rounds)]
    to_peer = max(
        (_of(rounds, "ours", size, "running") / _of(rounds, "peer", size, "running") for size in peer), default=0
    )
    beside = f", to peer {to_peer:.2f}" if peer else ""
    return f"scale: {len(sizes)} sizes, worst ratio to floor {to_floor:.2f}{beside}, reads per job {reads:.1f}"


def plot(rounds: Sequence[Round], file: Path) -> None:
    """Draws for each size how long it took until all jobs were running, and all pods existed."""
    from matplotlib.figure import Figure

    sizes = list(dict.fromkeys(each.size for each in rounds))
    figure = Figure(figsize=(3 * len(sizes), 4), layout="constrained")
    for axes, size in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
        subjects = list(dict.fromkeys(each.subject for each in rounds if each.size == size))
        jobs = [subject for subject in subjects if subject != "floor"]
        axes.bar(jobs, [_of(rounds, subject, size, "running") for subject in jobs], label="jobs running", color="C0")
        axes.bar(subjects, [_of(rounds, subject, size, "pods") for subject in subjects], 0.5, label="pods", color="C1")
        axes.set(title=_title(size))
        axes.grid(axis="y", alpha=0.3)
    figure.axes[0].set_ylabel("seconds")
    figure.axes[0].legend()
    figure.savefig(file, dpi=110)


def _title(size: str) -> str:
    jobs, workers = size.split("x")
    return f"{jobs} {'job' if jobs == '1' else 'jobs'} x {workers} workers"


def _of(rounds: Sequence[Round], subject: str, size: str, value: str) -> float:
    return _median([each for each in rounds if (each.subject, each.size) == (subject, size)], value)


def _median(group: Sequence[Round], value: str) -> float:
    return float(statistics.median(getattr(each, value) for each in group))
