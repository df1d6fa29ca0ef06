"""The report for programs: what `qtj report -o json` prints."""

from collections.abc import Mapping
from typing import Any

from qtj_contract.predictions import Predictions
from qtj_contract.program_source import ProgramSource
from qtj_contract.progress_log import EpochRecord
from qtj_report.content import Content
from qtj_report.predictions import LISTED_CLASSES, confusion, errors_of, finite_pairs
from qtj_report.wording import is_finite

__all__ = ["report_data"]


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
