"""From the bytes of an API server to objects: a job that is too large or too deep is known only by its identity.

One user's job must stop neither the others nor the operator. So its bytes are looked at before they are decoded, and
what is beyond the limits (`qtj_operator/api/limits.py`) becomes an object with the reason, which a pass writes into the
job's status.

The same user may write a Pod or a Service with the label of a job, and with a record of owners that has 9,000 levels:
the API server accepts that too. Of such a child only the identity is known, and no owner, so no job takes it for its.
"""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import aiohttp

from qtj_operator.api.limits import BEYOND, MOST_BYTES, RAW_BYTES, beyond, is_decodable
from qtj_operator.api.names import LABEL_JOB
from qtj_operator.cluster.scan import Wanted, fields
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.trim import packed

__all__ = ["PAGE", "Pages", "decode", "decode_child_event", "decode_event"]

T = TypeVar("T")

_ASIDE = ThreadPoolExecutor(1, "decode")

PAGE = 100
"""Objects in one answer to a list: to parse 500 pods takes 30 ms, in which nothing else happens."""

_SMALLER = 4

_META = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
_JOB: Wanted = {
    "apiVersion": None,
    "kind": None,
    "metadata": dict.fromkeys(_META),
    "spec": {"managedBy": None},
    "status": None,
}
"""What is read of a job that is too large: who it is, who manages it, and what the operator has recorded."""

_OTHER: Wanted = {"apiVersion": None, "kind": None, "metadata": {**dict.fromkeys(_META), "labels": {LABEL_JOB: None}}}
"""What is read of anything else that is too large."""


async def decode(resource: Resource, text: bytes) -> Any:
    """Returns an answer about one object.

    Raises:
        ValueError: It is no JSON.
    """
    return await _aside(_job if resource is Resource.QUANTUM_TRAINING_JOBS else _other, text)


async def decode_event(line: bytes) -> bytes:
    """Returns a line of a watch of jobs, with no more of its job than is wanted where that is too large.

    Raises:
        ValueError: It is no JSON.
        LookupError: It is no event.
        TypeError: It is no event.
    """
    return await _aside(_event, line)


async def decode_child_event(line: bytes) -> Any:
    """Returns an event of a watch of children, with no more of its object than is wanted where that is too large.

    Raises:
        ValueError: It is no JSON.
    """
    return await _aside(_child_event, line)


async def _aside(work: Callable[[bytes], T], text: bytes) -> T:
    """Does what may take a tenth of a second beside the event loop, one after the other."""
    if len(text) <= MOST_BYTES:
        return work(text)
    return await asyncio.get_running_loop().run_in_executor(_ASIDE, work, text)


def _other(text: bytes) -> Any:
    return _decoded(text, _OTHER)


def _child_event(line: bytes) -> Any:
    return _decoded(line, {"type": None, "object": _OTHER})


def _decoded(text: bytes, wanted: Wanted) -> Any:
    """Returns an object, or what is wanted of one that is too large or too deep: most are small, and cost no look."""
    if len(text) <= MOST_BYTES or is_decodable(text):
        with suppress(RecursionError):
            return json.loads(text)
    return fields(text, wanted)


def _job(text: bytes) -> Any:
    if (reason := beyond(text)) is None:
        return json.loads(text)
    return _judged(json.loads(text)) if is_decodable(text) else {**fields(text, _JOB), BEYOND: reason}


def _event(line: bytes) -> bytes:
    reason = beyond(line)
    if reason is None or is_decodable(line):
        event = json.loads(line)
        kind, job = event["type"], event["object"]
        if reason is None:
            return line
        job = _judged(job)
    else:
        event = fields(line, {"type": None, "object": _JOB})
        kind, job = event["type"], {**event["object"], BEYOND: reason}
    return json.dumps({"type": kind, "object": job}).encode()


def _judged(job: Object) -> Object:
    """Returns a job as it is, or what is wanted of one that is too large: the record of owners may have been so."""
    text = packed(job)
    reason = beyond(text)
    return job if reason is None else {**fields(text, _JOB), BEYOND: reason}


class Pages:
    """How many objects are asked for at a time: an answer has few objects where these are large.

    Args:
        resource: Of what.

    Attributes:
        limit: How many to ask for next.
    """

    def __init__(self, resource: Resource) -> None:
        self._are_jobs = resource is Resource.QUANTUM_TRAINING_JOBS
        self.limit = PAGE

    async def read(self, answer: aiohttp.ClientResponse) -> Object | None:
        """Returns an answer to a list; None where it is too large: then ask for fewer objects.

        Raises:
            ValueError: It is no JSON.
        """
        text = await self._text(answer.content)
        page = None if text is None else await _aside(self._page, text)
        if page is None:
            answer.close()
            self.limit = max(1, self.limit // _SMALLER)
        elif len(text or b"") < RAW_BYTES // _SMALLER:
            self.limit = min(PAGE, 2 * self.limit)
        return page

    async def _text(self, content: aiohttp.StreamReader) -> bytes | None:
        """Returns what is there, unless it is too much for more than one object."""
        text = bytearray()
        async for piece in content.iter_any():
            text += piece
            if self.limit > 1 and len(text) > RAW_BYTES:
                return None
        return bytes(text)

    def _page(self, text: bytes) -> Object | None:
        if is_decodable(text):
            page: Object = json.loads(text)
            return {**page, "items": list(map(_judged, page["items"]))} if self._are_jobs else page
        if self.limit > 1:
            return None
        one: Object = fields(text, {"metadata": None, "items": [_JOB if self._are_jobs else _OTHER]})
        if self._are_jobs:
            for job in one["items"]:
                job[BEYOND] = beyond(text)
        return one
