"""The record of a run as its folder holds it: what makes it one, and what it says of a folder that has moved since."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from qtj_operator.api.names import KIND

__all__ = ["is_record", "moved"]


def is_record(job: object) -> bool:
    """Tells whether JSON is the record of a job; its status may be damaged."""
    if not isinstance(job, dict) or job.get("kind") != KIND:
        return False
    meta = job.get("metadata")
    named = isinstance(meta, dict) and all(isinstance(meta.get(name), str) for name in ("name", "namespace", "uid"))
    return named and isinstance(job.get("spec"), dict) and isinstance(job.get("status") or {}, dict)


def moved(record: dict[str, Any], before: Path, now: Path) -> dict[str, Any]:
    """Returns a record with the address of its weights, if they lay in the folder of the run, where that is now."""
    status = record.get("status") or {}
    weights = status.get("weights")
    if not isinstance(weights, dict) or not str(uri := weights.get("uri")).startswith("file:///"):
        return record
    path = Path(unquote(urlsplit(uri).path))
    if not path.is_relative_to(before):
        return record
    here = {**weights, "uri": (now / path.relative_to(before)).as_uri()}
    return {**record, "status": {**status, "weights": here}}
