"""A job or a study in memory, as JSON: as Python objects it would take up to 25 times as much.

Only what tells which job it is, and in which state, is at hand. A pass over the job decodes the rest.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qtj_operator.controller.client import Object
from qtj_operator.manifests.trial import LABEL_STUDY

__all__ = ["PackedJob", "packed"]

_AT_HAND = ("name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp")


def packed(job: Object) -> bytes:
    """Returns a job as JSON, without the record of who owns which field: no decision reads it."""
    meta = {name: value for name, value in job["metadata"].items() if name != "managedFields"}
    return json.dumps({**job, "metadata": meta}, separators=(",", ":"), ensure_ascii=False).encode()


class PackedJob(Mapping[str, Any]):
    """A job whose metadata has only what is at hand, until it is unpacked.

    Args:
        job: The job.
    """

    __slots__ = ("_metadata", "_text")

    def __init__(self, job: Object) -> None:
        self._metadata = {name: job["metadata"][name] for name in _AT_HAND if name in job["metadata"]}
        if study := (job["metadata"].get("labels") or {}).get(LABEL_STUDY):
            self._metadata["labels"] = {LABEL_STUDY: study}
        self._text = packed(job)

    def unpacked(self) -> dict[str, Any]:
        """Returns the whole job, in objects of its own."""
        whole: dict[str, Any] = json.loads(self._text)
        return whole

    def __getitem__(self, name: str) -> Any:
        return self._metadata if name == "metadata" else self.unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpacked())

    def __len__(self) -> int:
        return len(self.unpacked())
