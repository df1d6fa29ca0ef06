"""The record of a run: whether it is one, the state of its job, and what changes in it when the job continues."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from qtj_operator.api.conditions import ConditionType, Reason
from qtj_operator.api.names import KIND
from qtj_operator.api.status import FINISHED, Phase

__all__ = ["is_at_rest", "is_over", "is_record", "moved", "reopened", "without_digest"]

_OF_EACH_ATTEMPT = ("attempt", "startTime", "progress")
"""What a finished training keeps in its status when it continues."""


def is_record(job: object) -> bool:
    """Tells whether JSON is the record of a job; its status may be damaged."""
    if not isinstance(job, dict) or job.get("kind") != KIND:
        return False
    meta = job.get("metadata")
    named = isinstance(meta, dict) and all(isinstance(meta.get(name), str) for name in ("name", "namespace", "uid"))
    return named and isinstance(job.get("spec"), dict) and isinstance(job.get("status") or {}, dict)


def moved(record: dict[str, Any], before: Path, now: Path) -> dict[str, Any]:
    """Returns a record in which weights in the folder of the run have the address of the folder's new path."""
    status = record.get("status") or {}
    weights = status.get("weights")
    if not isinstance(weights, dict) or not str(uri := weights.get("uri")).startswith("file:///"):
        return record
    path = Path(unquote(urlsplit(uri).path))
    if not path.is_relative_to(before):
        return record
    here = {**weights, "uri": (now / path.relative_to(before)).as_uri()}
    return {**record, "status": {**status, "weights": here}}


_DIGESTS = {"specDigest", "fixedDigest"}


def without_digest(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record without the digests of its spec.

    `qtj run` can continue a job with more epochs, which the operator would reject as a change of the spec.
    """
    status = {name: value for name, value in record.get("status", {}).items() if name not in _DIGESTS}
    return {**record, "status": status}


def reopened(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the record of a finished training as if it had been suspended before its end.

    Its conditions have been read before. The next attempt continues after the last checkpoint, and neither weights nor
    metrics are those of the first end.
    """
    status = record.get("status") or {}
    trained = (each for each in status["conditions"] if each["type"] == ConditionType.TRAINED)
    paused = [{**each, "type": ConditionType.SUSPENDED, "reason": Reason.SUSPENDED, "message": ""} for each in trained]
    kept = {name: status[name] for name in _OF_EACH_ATTEMPT if name in status}
    return {**record, "status": {**kept, "phase": Phase.SUSPENDED, "conditions": paused}}


def is_over(record: Mapping[str, Any]) -> bool:
    """Tells whether the job is complete or has failed."""
    return (record.get("status") or {}).get("phase") in FINISHED


def is_at_rest(record: Mapping[str, Any]) -> bool:
    """Tells whether nothing more happens to the job with its current spec."""
    status = record.get("status") or {}
    if status.get("observedGeneration") != record["metadata"]["generation"]:
        return False
    return is_over(record) or (status.get("phase") == Phase.SUSPENDED and bool(record["spec"].get("suspend")))
