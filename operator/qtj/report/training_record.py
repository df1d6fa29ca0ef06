"""The record and the drawing that the trainer stores beside the weights, so that people can check or repeat them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qtj.report.stored import stored_path, stored_text
from qtj_report.content import TrainingRecord

__all__ = ["training_record"]


def training_record(weights_uri: str | None, notes: list[str]) -> TrainingRecord:
    """Reads the record of stored weights; it is empty for weights in a bucket.

    Args:
        weights_uri: Where the weights are; None if there are none.
        notes: Gets a sentence for each file that cannot be read.
    """
    weights = stored_path(weights_uri) if weights_uri else None
    if weights is None or not weights.name:
        return TrainingRecord()
    beside = weights.with_suffix(".json")
    raw = {} if beside == weights else _record(beside, notes)  # a program may store its weights as JSON
    circuit = stored_text(weights.with_suffix(".txt"), "the drawing of the circuit", notes) or ""
    return TrainingRecord.of(raw, circuit=circuit, weights_bytes=_size(weights))


def _record(path: Path, notes: list[str]) -> Mapping[str, Any]:
    text = stored_text(path, "the record of the weights", notes)
    if text is None:
        return {}
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raw = None
    if isinstance(raw, dict):
        return raw
    notes.append(f"the record of the weights cannot be read: {path} is not a record of the trainer")
    return {}


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
