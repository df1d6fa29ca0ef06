"""The report as text, and as data for programs: what `qtj report -o json` prints."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from qtj_contract.digits import in_digits
from qtj_contract.predictions import Predictions
from qtj_contract.program_source import ProgramSource
from qtj_contract.progress_log import EpochRecord
from qtj_report.content import Content
from qtj_report.predictions import LISTED_CLASSES, confusion, errors_of, finite_pairs
from qtj_report.wording import is_finite, kept_weights, metric_name, sparkline

__all__ = ["report_data", "report_text"]

_NAMED_EPOCHS = 5
_INDENT = " " * 15


def report_text(found: Content) -> Iterator[str]:
    """Yields the lines."""
    yield found.headline
    yield from _epochs(found)
    yield from _loss(found)
    yield from _held_out_loss(found.epochs)
    yield from _accuracy(found.epochs)
    if found.step:
        yield f"step           {found.step}"
    yield from (f"{_INDENT}{each}" for each in found.stragglers)
    for name, value in found.metrics.items():
        yield f"{metric_name(name, found.measured_by):<14} {in_digits(value)} ({found.measured_by})"
    if found.predictions:
        yield from _predictions(found.predictions)
    yield from found.notes


def _epochs(found: Content) -> Iterator[str]:
    done = max(found.done, found.epochs[-1].number if found.epochs else 0)
    if not done:
        yield "epochs         none recorded yet"
        return
    asked = f" of {found.asked}" if found.asked else ""
    yield f"epochs         {done}{asked}"
    if kept := kept_weights(found):
        yield f"{_INDENT}{kept}"
    for before, after in pairwise(found.epochs):
        if after.attempt != before.attempt:
            yield f"{_INDENT}attempt {after.attempt} from epoch {after.number} on"
    missed = done - len(found.epochs)
    if found.epochs and missed > 0:
        yield f"{_INDENT}{missed} of them started and ended between two polls, and are not recorded"


def _loss(found: Content) -> Iterator[str]:
    known = [(each.number, each.loss) for each in found.epochs if is_finite(each.loss)]
    if known:
        yield f"loss           {sparkline([each.loss for each in found.epochs])}"
        yield f"{_INDENT}{_from_to(known)}"
    elif found.last_loss is not None:
        which = "the last epoch" if found.done else "the first epoch, which is not done"
        yield f"loss           {in_digits(found.last_loss)} in {which}"
    yield from _gaps(found.epochs)


def _gaps(epochs: Sequence[EpochRecord]) -> Iterator[str]:
    """Yields where the curve has gaps, if any loss was reported."""
    lost = [each for each in epochs if not is_finite(each.loss)]
    if not lost or all(each.loss is None for each in epochs):
        return
    what = "was not finite" if all(each.loss is not None for each in lost) else "was not finite, or not reported,"
    numbers = [each.number for each in lost]
    if numbers == [each.number for each in epochs[-len(numbers) :]]:
        yield f"{_INDENT}the loss {what} from epoch {numbers[0]} on"
        return
    more = len(numbers) - _NAMED_EPOCHS
    named = ", ".join(map(str, numbers[:_NAMED_EPOCHS])) + (f" and {more} more" if more > 0 else "")
    yield f"{_INDENT}the loss {what} in epoch{'s' if len(numbers) > 1 else ''} {named}"


def _held_out_loss(epochs: Sequence[EpochRecord]) -> Iterator[str]:
    """Yields where the loss on the held-out set was lowest.

    After that epoch, only the fit to the training set improves.
    """
    known = [(each.validation_loss, each.number) for each in epochs if each.validation_loss is not None]
    if known:
        loss, number = min(known)
        yield f"held-out loss  {_from_to([(epoch, value) for value, epoch in known])}"
        yield f"{_INDENT}lowest after epoch {number}: {in_digits(loss)}"


def _accuracy(epochs: Sequence[EpochRecord]) -> Iterator[str]:
    known = [(each.number, each.accuracy) for each in epochs if each.accuracy is not None]
    training = [(each.number, each.training_accuracy) for each in epochs if each.training_accuracy is not None]
    if known:
        yield f"accuracy       {_from_to(known)}"
    if training:
        name = _INDENT if known else "accuracy       "
        yield f"{name}on the training set {_from_to(training)}"


def _from_to(values: Sequence[tuple[int, float]]) -> str:
    (first, begin), (last, end) = values[0], values[-1]
    later = f", {in_digits(end)} after epoch {last}" if last > first else ""
    return f"{in_digits(begin)} after epoch {first}{later}"


def _predictions(found: Predictions) -> Iterator[str]:
    pairs = finite_pairs(found)
    shown, some = len(found.labels), found.examples > len(found.labels)
    which = f"the first {shown} of {found.examples} held-out examples" if some else f"{shown} held-out examples"
    if not pairs:
        yield f"predictions    {which}, none with a finite prediction"
    elif found.classes:
        right = sum(label == predicted for label, predicted in pairs)
        yield f"predictions    {right} of {which} are in the right class"
        yield from _by_class(found)
    else:
        errors = errors_of(pairs)
        yield f"predictions    {which}: root mean square error {in_digits(errors.root_mean_square)}"
        determined = "" if errors.determination is None else f", R² {in_digits(errors.determination)}"
        yield f"{_INDENT}mean absolute error {in_digits(errors.mean_absolute)}{determined}"
    if pairs and len(pairs) < shown:
        yield f"{_INDENT}{shown - len(pairs)} of them have no finite prediction"


def _by_class(found: Predictions) -> Iterator[str]:
    if len(found.classes) > LISTED_CLASSES:
        return
    width = max(map(len, found.classes))
    for number, (name, row) in enumerate(zip(found.classes, confusion(found), strict=True)):
        wrong = [f"{count} taken for {found.classes[to]}" for to, count in enumerate(row) if count and to != number]
        yield f"  {name:<{width}}  " + ", ".join([f"{row[number]} of {sum(row)}", *wrong])


def report_data(found: Content) -> Mapping[str, Any]:
    """Returns the content of a report without rounding; a number that is unknown or not finite is null."""
    return {
        "run": found.title,
        "phase": found.phase,
        "message": found.headline,
        "epochs": found.asked,
        "history": [_epoch(each) for each in found.epochs],
        "step": found.step or None,
        "stragglers": list(found.stragglers),
        "metrics": {name: _finite(value) for name, value in found.metrics.items()},
        "predictions": found.predictions and _scores(found.predictions),
        "programs": {path: _program(each) for path, each in found.programs.items()},
        "origin": _origin(found),
        "notes": list(found.notes),
    }


def _program(source: ProgramSource) -> Mapping[str, Any]:
    """Returns what a program is; digests stand for its text, which is stored below `source` of the artifacts."""
    return {"arguments": list(source.arguments), "code": source.digests(), "data": dict(source.data)}


def _origin(found: Content) -> Mapping[str, Any]:
    """Returns what a run came from, as far as it is recorded."""
    image = found.record.image or found.origin.image
    known = {
        "commit": found.origin.commit,
        "machine": found.origin.machine,
        "image": image,
        "changed": found.origin.changed,
    }
    return {name: value or None for name, value in known.items()} | {"versions": dict(found.versions)}


def _epoch(record: EpochRecord) -> Mapping[str, Any]:
    return {
        "epoch": record.number,
        "attempt": record.attempt,
        "loss": _finite(record.loss),
        "accuracy": _finite(record.accuracy),
        "validationLoss": _finite(record.validation_loss),
        "trainingAccuracy": _finite(record.training_accuracy),
        "examplesPerSecond": _finite(record.examples_per_second),
        "devices": record.devices,
        "scores": dict(record.scores),
    }


def _scores(found: Predictions) -> Mapping[str, Any]:
    """Returns the scores of predictions; those that are not finite count only in `stored`."""
    pairs = finite_pairs(found)
    counts = {"examples": found.examples, "stored": len(found.labels), "judged": len(pairs)}
    if found.classes:
        few = len(found.classes) <= LISTED_CLASSES
        right = sum(label == predicted for label, predicted in pairs)
        matrix = confusion(found) if few else None
        return {**counts, "classes": list(found.classes), "right": right, "confusion": matrix}
    errors = errors_of(pairs) if pairs else None
    return {
        **counts,
        "rootMeanSquareError": errors and _finite(errors.root_mean_square),
        "meanAbsoluteError": errors and _finite(errors.mean_absolute),
        "determination": errors and _finite(errors.determination),
    }


def _finite(value: float | None) -> float | None:
    return value if is_finite(value) else None
