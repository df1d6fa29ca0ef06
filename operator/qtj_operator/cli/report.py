"""`qtj report`: the loss curve and the predictions of a job that was run on this machine, as a picture and as text.

Both come from the logs, so they show what a reader of the logs saw: the line of each epoch, and inference's table. A
program of one's own need not write such lines: of a job that has ended, its record and its result tell then.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qtj_operator.api.contract import TerminationMessage
from qtj_operator.cli.errors import InputError
from qtj_operator.cli.places import recorded
from qtj_operator.cli.view import ended
from qtj_operator.local.folder import Folder

__all__ = ["Epoch", "Prediction", "epochs_of", "predictions_of", "report_job"]

_EPOCH = re.compile(r"epoch +(?P<number>\d+)/\d+ +loss (?P<loss>\S+)(?P<scores>.*)")
_SCORE = re.compile(r"([A-Za-z]\w*) (-?[\d.]+(?:e[-+]?\d+)?)")
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_CLASSES = 20
_TABLE = {"label", "prediction"}


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch.

    Attributes:
        loss: Training loss.
        scores: What was measured on the held-out set, by name.
    """

    number: int
    loss: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Prediction:
    """One held-out example: its label, what the model said, and whether the trainer takes that for right."""

    label: float
    said: float
    is_right: bool


def report_job(run: str | None, artifacts: str | None) -> str:
    """Writes report.png and report.txt into the job's folder, and returns the text.

    Raises:
        InputError: The job was not run here, or there is nothing to tell yet.
    """
    found = recorded(run, artifacts)
    job, folder, record = found.name, found.folder, found.job
    lines = list(_lines(folder))
    epochs, predictions = epochs_of(lines), predictions_of(lines)
    phase = (record.get("status") or {}).get("phase")
    if not epochs and phase not in {"Complete", "Failed"}:
        raise InputError(f"the logs in {folder.path} tell of no epoch yet: look again when {job} has trained for one")
    numbers = _loss_text(epochs) if epochs else _result_text(folder, record["status"])
    logs = [f"logs           {folder.path / 'logs'}"] if phase == "Failed" else []
    text = "\n".join([ended(record), *numbers, *_prediction_text(predictions), *logs])
    try:
        (folder.path / "report.txt").write_text(text + "\n")
        if epochs:
            _draw(epochs, predictions).savefig(folder.path / "report.png", dpi=120)
    except OSError as problem:
        raise InputError(f"cannot write the report to {folder.path} ({problem.strerror})") from None
    picture = folder.path / "report.png" if epochs else "none, for the logs tell of no epoch"
    return f"{text}\npicture: {picture}"


def epochs_of(lines: Iterable[str]) -> Sequence[Epoch]:
    """Returns the epochs that log lines tell of, in order; one that was repeated counts as it was last."""
    found = {}
    for line in lines:
        if said := _EPOCH.match(line):
            scores = {name: float(value) for name, value in _SCORE.findall(said["scores"])}
            found[int(said["number"])] = Epoch(int(said["number"]), float(said["loss"]), scores)
    return [found[number] for number in sorted(found)]


def predictions_of(lines: Iterable[str]) -> Sequence[Prediction]:
    """Returns the examples of the last table of predictions in log lines."""
    columns: Sequence[str] = ()
    found: list[Prediction] = []
    for line in lines:
        words = line.split()
        if set(words) >= _TABLE:
            columns, found = words, []
        elif columns and (row := _row(columns, words)):
            found.append(Prediction(row["label"], row["prediction"], is_right=words[-1] != "wrong"))
        else:
            columns = ()
    return found


def _row(columns: Sequence[str], words: Sequence[str]) -> Mapping[str, float] | None:
    try:
        return dict(zip(columns, map(float, words[: len(columns)]), strict=True))
    except ValueError:
        return None


def _lines(folder: Folder) -> Iterator[str]:
    for path in folder.logs:
        yield from path.read_text(errors="replace").splitlines()


def _loss_text(epochs: Sequence[Epoch]) -> Iterator[str]:
    first, last = epochs[0], epochs[-1]
    yield f"loss           {_curve([each.loss for each in epochs])}"
    yield f"               {first.loss:.4f} after epoch {first.number}, {last.loss:.4f} after epoch {last.number}"
    for name, value in last.scores.items():
        yield f"{name:<14} {value:.4f} on the held-out set"


def _result_text(folder: Folder, status: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a job that has ended left beside its logs."""
    progress = status.get("progress") or {}
    if progress:
        yield f"epochs         {progress['epoch']} of {progress['epochs']}"
    if "loss" in progress:
        yield f"loss           {progress['loss']:.4g} in the last epoch"
    for name, value in ((status.get("inference") or {}).get("metrics") or _result(folder)).items():
        yield f"{name:<14} {value:.4g}"


def _result(folder: Folder) -> Mapping[str, float]:
    """Returns the numbers of result.json, which is here unless the artifacts went to a bucket."""
    try:
        said = TerminationMessage.parse((folder.path / "result.json").read_text())
    except (OSError, ValueError):
        return {}
    return said.metrics if said else {}


def _curve(values: Sequence[float]) -> str:
    """Draws numbers in one line, of long series every so many."""
    step = -(-len(values) // _WIDTH)
    shown, low, high = values[::step], min(values), max(values)
    return "".join(_BARS[round((value - low) / ((high - low) or 1) * (len(_BARS) - 1))] for value in shown)


def _prediction_text(predictions: Sequence[Prediction]) -> Iterator[str]:
    if not predictions:
        return
    right = sum(each.is_right for each in predictions)
    yield f"predictions    {right} of {len(predictions)} held-out examples are right"
    for label, own in _by_label(predictions).items():
        mean = sum(each.said for each in own) / len(own)
        yield f"  label {label:<8g} {sum(each.is_right for each in own)} of {len(own)} right, {mean:.3f} on average"


def _by_label(predictions: Sequence[Prediction]) -> Mapping[float, Sequence[Prediction]]:
    """Groups examples by their label; none when the labels are no classes but measurements."""
    groups: dict[float, list[Prediction]] = {}
    for each in sorted(predictions, key=lambda each: each.label):
        groups.setdefault(each.label, []).append(each)
    return groups if len(groups) <= _CLASSES else {}


def _draw(epochs: Sequence[Epoch], predictions: Sequence[Prediction]) -> Any:  # noqa: ANN401  matplotlib is optional
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  optional, and a second to import
    except ImportError:
        raise InputError("a picture needs matplotlib: pip install 'quantumtrainingjob[trainer]'") from None
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([each.number for each in epochs], [each.loss for each in epochs], marker=".")
    left.set(xlabel="epoch", ylabel="training loss", title="Loss")
    groups = _by_label(predictions)
    for label, own in groups.items():
        right.hist([each.said for each in own], bins=30, alpha=0.6, label=f"label {label:g}")
    if groups:
        right.set(xlabel="prediction", ylabel="held-out examples", title="Predictions by label")
        right.margins(y=0.2)
        right.legend(loc="upper center")
    else:
        right.plot([each.label for each in predictions], [each.said for each in predictions], ".")
        right.set(xlabel="label", ylabel="prediction", title="Predictions and labels")
    return figure
