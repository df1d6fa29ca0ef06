"""The record and the drawing that the trainer stores beside the weights, so that people can check or repeat them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qtj.report.stored import stored_path, stored_text

__all__ = ["TrainingRecord", "training_record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecord:
    """How weights were trained; each field may be missing.

    Attributes:
        workload: The workload of the trainer.
        options: Its options, by name.
        versions: Versions of Python and libraries, by name.
        image: The container image.
        circuit: A drawing of the circuit.
        circuit_files: Files with the circuit and its learned angles, relative to the artifacts.
        weights_bytes: The size of the weights.
    """

    workload: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    circuit: str = ""
    circuit_files: tuple[str, ...] = ()
    weights_bytes: int | None = None


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
    circuits = raw.get("circuits")
    return TrainingRecord(
        workload=_text(raw, "workload"),
        options=_mapping(raw, "options"),
        versions={name: str(each) for name, each in _mapping(raw, "versions").items()},
        image=_text(raw, "image"),
        circuit=stored_text(weights.with_suffix(".txt"), "the drawing of the circuit", notes) or "",
        circuit_files=tuple(_names(circuits)) if isinstance(circuits, dict) else (),
        weights_bytes=_size(weights),
    )


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


def _names(circuits: Mapping[str, Any]) -> list[str]:
    lists = [each for each in circuits.values() if isinstance(each, list)]
    return [name for each in lists for name in each if isinstance(name, str)]


def _mapping(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = raw.get(name)
    return found if isinstance(found, dict) else {}


def _text(raw: Mapping[str, Any], name: str) -> str:
    found = raw.get(name)
    return found if isinstance(found, str) else ""


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
