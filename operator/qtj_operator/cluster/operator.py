"""The operator, put together: watches fill the cache and the queue, workers empty it, the server shows its state."""

import base64
import json
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from operator import itemgetter

from qtj_contract.version import installed_version
from qtj_operator.api.copied_labels import CopiedLabels
from qtj_operator.api.platform_settings import NO_SETTINGS, PlatformSettings
from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.connect import connect, transport
from qtj_operator.cluster.leader import lead
from qtj_operator.cluster.python_gc import short_collections
from qtj_operator.cluster.scope import Scope, Shared, check_installed, until_one_ends
from qtj_operator.cluster.server import serve
from qtj_operator.controller.client import Key
from qtj_operator.controller.fair_limit import FairLimit
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.study_memory import Studies as KnownStudies
from qtj_operator.core.platform import CLUSTER, Platform

__all__ = ["Settings", "account_of", "run_operator"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator is started with.

    Attributes:
        namespaces: The only namespaces to look after; empty for all.
        port: Where to answer probes and Prometheus; 0 for nowhere.
        lease_namespace: Where operators agree on a leader; None to work without asking.
        tensorboard_image: The image of TensorBoard for jobs that name none.
        copied_labels: Which labels of a job everything made for it gets too.
        jobs: Defaults and ceilings for jobs.
    """

    namespaces: tuple[str, ...]
    port: int
    lease_namespace: str | None
    tensorboard_image: str
    copied_labels: CopiedLabels
    jobs: PlatformSettings = NO_SETTINGS


@dataclass(slots=True)
class _State:
    """What the probes tell: one that stands by is as ready as it can be, one that is refused the Lease is not."""

    scopes: Sequence[Scope]
    leads: bool = False
    waits: bool = False

    def stands_by(self, waits: bool) -> None:
        self.waits = waits

    @property
    def ready(self) -> bool:
        return all(scope.ready for scope in self.scopes) if self.leads else self.waits

    @property
    def alive(self) -> bool:
        return all(scope.alive for scope in self.scopes)


async def run_operator(settings: Settings) -> None:
    """Runs the operator until it gets SIGTERM or SIGINT.

    Raises:
        ApiError: There is no cluster, or no CRD in it, or another operator took over.
    """
    spaces = settings.namespaces
    where = f"namespace{'s' if spaces[1:] else ''} {', '.join(spaces)}" if spaces else "all namespaces"
    log.info("version %s starts, for %s", installed_version(), where)
    queues, of_studies = ([WorkQueue[Key](itemgetter(0)) for _ in spaces or (None,)] for _ in range(2))
    limit, jobs, studies = FairLimit(), Jobs(), KnownStudies()
    metrics = Metrics(lambda: sum(map(len, (*queues, *of_studies))) + limit.waiting, jobs, studies=studies)
    client = await connect(metrics)
    shared = Shared(
        client=client, metrics=metrics, jobs=jobs, studies=studies, limit=limit, platform=_platform(client, settings)
    )
    of_scopes = zip(spaces or (None,), queues, of_studies, strict=True)
    scopes = [Scope(name, queue, trials, shared) for name, queue, trials in of_scopes]
    try:
        with short_collections():
            await _run(client, metrics, settings, scopes)
    finally:
        await client.close()


def _platform(client: ApiClient, settings: Settings) -> Platform:
    return replace(
        CLUSTER,
        tensorboard_image=settings.tensorboard_image,
        account=account_of(client.transport.configuration.api_key.get("BearerToken", "")),
        copied_labels=settings.copied_labels,
        settings=settings.jobs,
    )


async def _run(client: ApiClient, metrics: Metrics, settings: Settings, scopes: Sequence[Scope]) -> None:
    state, alone = _State(scopes), len(scopes) == 1

    async def work() -> None:
        if alone:
            (namespace,) = settings.namespaces or (None,)
            await check_installed(client, namespace, patient=settings.lease_namespace is not None)
        state.leads = True
        metrics.leads()
        await until_one_ends(*(scope.run(awaits_rights=not alone) for scope in scopes))

    async with AsyncExitStack() as stack:
        if settings.port:
            probes = serve(settings.port, metrics.registry, alive=lambda: state.alive, ready=lambda: state.ready)
            await stack.enter_async_context(probes)
        if settings.lease_namespace is None:
            await work()
        else:
            # A connection of its own: writes may be held for long, and the Lease must not wait behind them.
            of_lease = await stack.enter_async_context(transport(client.transport.configuration))
            await lead(of_lease, settings.lease_namespace, work, state.stands_by)


_PREFIX = "system:serviceaccount:"


def account_of(token: str) -> tuple[str, str] | None:
    """Returns namespace and name of the service account that a token is of; None where it is another kind of token.

    Args:
        token: A token of this process, as it is sent. It is not verified: it is not somebody's claim.
    """
    try:
        _, body, _ = token.removeprefix("Bearer ").split(".")
        subject = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["sub"]
        namespace, name = subject.removeprefix(_PREFIX).split(":")
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return (namespace, name) if subject.startswith(_PREFIX) else None
