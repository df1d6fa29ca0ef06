"""Watches jobs with kopf, which only this module imports; `reflector.py` watches their children.

Of kopf's handlers only `on.event` is used, and it does nothing but fill the cache. Its other handlers keep their state
in annotations and finalizers of the user's object, which belongs to the user (and to Argo CD), and they see changes,
not states. `on.event` writes nothing, and it reports nothing of jobs that vanish while kopf lists them again. So the
cache takes each list of kopf's as a whole, from the session in which kopf asks for it.
"""

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import kopf
from kubernetes.aio import client as kubernetes

from qtj_operator.api.names import GROUP, MANAGED_BY, PLURAL, VERSION
from qtj_operator.cluster.session import Spacing, session
from qtj_operator.controller.client import Resource
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.watch_handler import Receiver

__all__ = ["SILENCE_SECONDS", "watch"]

log = logging.getLogger(__name__)

_JOBS = Resource.QUANTUM_TRAINING_JOBS

SILENCE_SECONDS = 150.0
"""After so long without an event a watch is asked for again; `session.py` then sees to a list."""

_LIST_SECONDS = 3600.0
"""How long a list of all jobs may take, in all its pages; `session.py` limits each."""

_CONNECT_SECONDS = 15.0

_BETWEEN_LOGINS_SECONDS = 2.0
"""kopf reads the credentials anew after each request that they are refused for (401), and asks again at once."""

_NO_FINALIZER = "kopf holds nothing"
"""kopf removes its finalizer from objects that it does not handle. No object has this one: spaces are not allowed."""

_FIRST_PAUSES = (0.2, 0.5, 1.0)
_PAUSE = 2.0


class _Patience:
    """Seconds between two tries of a request, for as long as it takes.

    kopf's own pauses grow to 21 s, which a watch would sleep through after the API server is back; and after the last
    it gives up, and the operator with it.
    """

    def __iter__(self) -> Iterator[float]:
        yield from _FIRST_PAUSES
        while True:
            yield _PAUSE


class _NoDifferences(kopf.DiffBaseStorage):
    """Finds no differences: kopf copies each object whole to look for some, and only its other handlers use them."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        return

    def store(self, **_: Any) -> None:
        """Stores nothing: the object is the user's."""


async def watch(transport: kubernetes.ApiClient, metrics: Metrics, handler: Receiver, namespace: str | None) -> None:
    """Watches jobs until cancelled.

    Args:
        transport: Says where the API server is, and with which credentials.
        metrics: Where requests are counted.
        handler: Takes all jobs there are, and each change.
        namespace: The only namespace to watch; None for all.

    Raises:
        Exception: A watch ended with an error that kopf does not recover from; the process is to be restarted.
    """
    registry = kopf.OperatorRegistry()
    _handlers(registry, transport, metrics, handler)
    await kopf.operator(
        registry=registry,
        settings=_settings(),
        standalone=True,
        # kopf would look up the user's name, and an arbitrary uid in a container has none.
        identity=MANAGED_BY,  # type: ignore[arg-type]  # its type is private
        clusterwide=namespace is None,
        namespaces=[namespace] if namespace else [],
    )


def _handlers(
    registry: kopf.OperatorRegistry, transport: kubernetes.ApiClient, metrics: Metrics, handler: Receiver
) -> None:
    async def job(*, event: kopf.RawEvent, **_: Any) -> None:
        if event["type"] is not None:  # what is listed is there already
            handler.changed(_JOBS, event["type"], dict(event["object"]))

    kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)(job)
    logins = Spacing(_BETWEEN_LOGINS_SECONDS)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        if await logins.next():
            log.warning("the API server does not accept the operator's credentials, which are read again")
        return kopf.AiohttpSession(
            server=transport.configuration.host,
            aiohttp_session=session(transport, metrics, partial(handler.listed, _JOBS)),  # which kopf closes
        )


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True  # no watch on namespaces and CRDs, and so no right to it needed
    settings.posting.enabled = False  # events are ours to write, once
    settings.peering.standalone = True
    settings.persistence.finalizer = _NO_FINALIZER
    settings.persistence.diffbase_storage = _NoDifferences()
    settings.networking.error_backoffs = _Patience()
    settings.networking.request_timeout = _LIST_SECONDS
    settings.networking.connect_timeout = _CONNECT_SECONDS
    settings.watching.inactivity_timeout = SILENCE_SECONDS
    return settings
