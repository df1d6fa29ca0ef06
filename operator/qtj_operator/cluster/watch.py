"""Watches the cluster with kopf, which only this module imports.

Of kopf's handlers only `on.event` is used, and it does nothing but put a key into the queue. Its other handlers keep
their state in annotations and finalizers of the user's object, which belongs to the user (and to Argo CD), and they
see changes, not states. `on.event` writes nothing; what it loses (it never retries, and says nothing of objects that
vanish during a re-list), the queue's resync and the live reads of every pass make up for.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import kopf

from qtj_operator.api.names import GROUP, LABEL_JOB, MANAGED_BY, PLURAL, VERSION
from qtj_operator.cluster.session import session
from qtj_operator.controller.client import Key

__all__ = ["watch"]

_FIRST_PAUSES = (0.2, 0.5, 1.0)
_PAUSE = 2.0
_CHILDREN = (("", "v1", "pods"), ("", "v1", "services"), ("apps", "v1", "deployments"), ("batch", "v1", "jobs"))


class _Patience:
    """Seconds between two tries of a request, for as long as it takes.

    kopf's own pauses grow to 21 s, which a watch would sleep through after the API server is back; and after the last
    it gives up, and the operator with it.
    """

    def __iter__(self) -> Iterator[float]:
        yield from _FIRST_PAUSES
        while True:
            yield _PAUSE


async def watch(hint: Callable[[Key], None], namespace: str | None, ready: Callable[[], None]) -> None:
    """Watches jobs and their children until cancelled.

    Args:
        hint: Called with the key of every job that is worth a look.
        namespace: The only namespace to watch; None for all.
        ready: Called once the watches have started.

    Raises:
        Exception: A watch ended with an error that kopf does not recover from; the process is to be restarted.
    """
    registry = kopf.OperatorRegistry()
    _handlers(registry, hint)

    @kopf.on.startup(registry=registry)
    async def started(**_: Any) -> None:  # noqa: ANN401
        ready()

    await kopf.operator(
        registry=registry,
        settings=_settings(),
        standalone=True,
        # kopf would look up the user's name, and an arbitrary uid in a container has none.
        identity=MANAGED_BY,  # type: ignore[arg-type]  # its type is private
        clusterwide=namespace is None,
        namespaces=[namespace] if namespace else [],
    )


def _handlers(registry: kopf.OperatorRegistry, hint: Callable[[Key], None]) -> None:
    async def job(*, namespace: str | None, name: str, **_: Any) -> None:  # noqa: ANN401
        hint((namespace or "", name))

    async def child(*, namespace: str | None, labels: Mapping[str, str], **_: Any) -> None:  # noqa: ANN401
        hint((namespace or "", labels[LABEL_JOB]))

    kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)(job)
    for resource in _CHILDREN:
        kopf.on.event(*resource, labels={LABEL_JOB: kopf.PRESENT}, registry=registry)(child)

    @kopf.on.login(registry=registry)
    async def login(**kwargs: Any) -> Any:  # noqa: ANN401
        info = kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
        return info and _credentials(info)


def _credentials(info: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """Returns kopf's own credentials with a session of ours, which kopf closes."""
    return kopf.AiohttpSession(
        server=info.server,
        default_namespace=info.default_namespace,
        priority=info.priority,
        expiration=info.expiration,
        aiohttp_session=session(
            info.as_http_headers(), ssl=info.as_ssl_context(), proxy=info.proxy_url, trust_env=info.trust_env
        ),
    )


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True  # no watch on namespaces and CRDs, and so no right to it needed
    settings.posting.enabled = False  # events are ours to write, once
    settings.peering.standalone = True
    settings.networking.error_backoffs = _Patience()
    for child in _CHILDREN:  # filtered by the server: a cluster has many more pods than we have children
        settings.watching.label_selectors[child] = LABEL_JOB
    return settings
