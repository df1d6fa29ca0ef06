"""The operator on one machine: the same reconcile over a cluster in memory, and a kubelet that runs processes.

user's YAML ──▶ ClusterStore ──watch──▶ queue ──▶ Reconciler ──▶ ClusterStore   as on a cluster
                     │ watch                                   │
                     ├──▶ Kubelet ──▶ processes ──▶ pod status ┤            instead of nodes
                     ├──▶ JobController ──▶ inference pods ────┤            instead of kube-controller-manager
                     └──▶ the folder's record, the view
"""

import asyncio
import platform
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from qtj.local.addresses import Addresses, PortLease
from qtj.local.container import Configs
from qtj.local.folder import Folder, FolderError
from qtj.local.fork_server import ForkServer
from qtj.local.hidden import restored
from qtj.local.http import get
from qtj.local.jobs import JobController
from qtj.local.kubelet import Kubelet, Machine
from qtj.local.pod_record import record_pod
from qtj.local.progress_log import ProgressLog
from qtj.local.records import is_at_rest, is_over, without_digest
from qtj.local.store import Change, ClusterStore, MemoryClient
from qtj_contract import PROGRESS_PATH, activity_in
from qtj_operator.api.job import METRICS_PORT, ReplicaId
from qtj_operator.api.names import LABEL_JOB, replica_name
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.controller.job_memory import Jobs
from qtj_operator.controller.metrics import Metrics
from qtj_operator.controller.progress import Poller
from qtj_operator.controller.queue import WorkQueue
from qtj_operator.controller.reconcile import Reconciler, utc_now
from qtj_operator.controller.runtime import Runtime
from qtj_operator.core.platform import Platform

__all__ = ["LocalJob", "Session"]

_PERIOD_SECONDS = 0.5
_LEAVE_SECONDS = 5.0
"""How long programs may take to end by themselves once all jobs have ended."""
_FOLLOWER_SECONDS = 2.0
_TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalJob:
    """A job to run on this machine.

    Attributes:
        manifest: The job as its author wrote it.
        folder: Where its record and its logs are stored.
        artifacts: The address of its artifacts, instead of the one in its spec.
        record: The job as an earlier run left it, to continue it.
    """

    manifest: Object
    folder: Folder
    artifacts: str
    record: Object | None = None

    @property
    def key(self) -> Key:
        """Namespace and name."""
        meta = self.manifest["metadata"]
        return meta["namespace"], meta["name"]


class Session:
    """Runs jobs to their end.

    Args:
        jobs: The jobs.
        configs: ConfigMaps and Secrets that their pods refer to.
        on_change: Called after each change of any object.
        on_activity: Called with a job and the activity that its leader reports, at every poll.
        on_end: Called with each job that is over or dropped once its record is final and nothing of it runs, unless
            this stops; returns the jobs to start then.
        server: Forks trainers, if there is one.
    """

    def __init__(
        self,
        jobs: Sequence[LocalJob],
        *,
        configs: Configs | None = None,
        on_change: Callable[[Change], None] = lambda _: None,
        on_activity: Callable[[Key, str], None] = lambda _key, _activity: None,
        on_end: Callable[[Object], Awaitable[Sequence[LocalJob]]] | None = None,
        server: ForkServer | None = None,
    ) -> None:
        self._jobs: dict[Key, LocalJob] = {}
        self._progress: dict[Key, ProgressLog] = {}
        self._local_artifacts: dict[Key, str] = {}
        for job in jobs:
            self._add(job)
        self._on_change = on_change
        self._on_end = on_end
        self._store = ClusterStore(utc_now, self._on_store_change, lambda: str(uuid.uuid4()))
        self._lease = PortLease()
        self._addresses = Addresses(self._lease, partial(self._store.has, Resource.SERVICES))
        self._controller = JobController(self._store, utc_now)
        self._queue: WorkQueue[Key] = WorkQueue()
        self._poller = _LocalPoller(self._queue.add, self._progress_port, on_activity)
        self._remembered = Jobs()
        self._metrics = Metrics(lambda: len(self._queue), self._remembered)
        self._client = MemoryClient(self._store)
        self._reconciler = Reconciler(
            self._client,
            self._poller,
            jobs=self._remembered,
            metrics=self._metrics,
            paced=False,  # writes to memory are cheap, and the user watches
            platform=Platform(keeps_files=True, shares_nodes=False, artifacts=self._local_artifacts),
        )
        self._kubelet = Kubelet(self._store, self._machine(configs or {}), server)
        self._changed = asyncio.Event()
        self._last: dict[Key, Object] = {}
        self._gone: set[Key] = set()
        self._unsaved: set[Key] = set()
        self._ended: set[Key] = set()
        self._dropped: set[Key] = set()
        self._stopping = asyncio.Event()
        self._rested: float | None = None

    def final(self, key: Key) -> Object:
        """Returns the job as it was last."""
        return self._last[key]

    def pid(self, pod: str) -> int | None:
        """Returns the process of a running pod."""
        return self._kubelet.pid(pod)

    def stop(self) -> None:
        """Suspends every job that has not ended: its programs get SIGTERM, and their checkpoints stay."""
        self._stop(at_once=False)

    def drop(self, key: Key) -> None:
        """Suspends one job, which then counts as ended."""
        self._dropped.add(key)
        self._suspend(key)

    def kill(self) -> None:
        """Suspends every job and kills its programs at once."""
        self._stop(at_once=True)

    def _stop(self, *, at_once: bool) -> None:
        self._stopping.set()
        for key, job in self._last.items():
            if not is_over(job):
                with suppress(FolderError):  # then other commands do not see it
                    self._jobs[key].folder.ask_to_stop(at_once=at_once)
            self._suspend(key, at_once=at_once)

    def _suspend(self, key: Key, *, at_once: bool = False) -> None:
        job = self._last[key]
        if not is_over(job):
            self._edit(*key, {**job["spec"], "suspend": True})
        if at_once:
            self._kubelet.kill(key)

    async def run(self) -> None:
        """Runs until every job has ended or is suspended, and no program of theirs is left."""
        runtime = Runtime(
            self._client, self._reconciler.reconcile, self._queue, None, jobs=self._remembered, metrics=self._metrics
        )
        background = [asyncio.create_task(each) for each in (runtime.run(), self._poller.run())]
        try:
            for job in list(self._jobs.values()):
                self._apply(job)
            while not self._is_done():
                await self._advance(background)
        finally:
            await self._shut_down(background)

    def _add(self, job: LocalJob) -> None:
        self._jobs[job.key] = job
        self._progress[job.key] = ProgressLog(job.folder.path, job.record)
        self._local_artifacts[job.key] = job.artifacts

    def _apply(self, job: LocalJob) -> None:
        if job.record is None:
            self._store.create(Resource.QUANTUM_TRAINING_JOBS, job.manifest)
        else:
            self._store.restore(
                Resource.QUANTUM_TRAINING_JOBS, restored(without_digest(job.record), job.manifest["spec"])
            )
            self._edit(*job.key, job.manifest["spec"])

    def _edit(self, namespace: str, name: str, spec: Object) -> None:
        with suppress(ApiError):  # it is deleted: its time to live is over
            change = {"spec": spec}
            self._store.update(Resource.QUANTUM_TRAINING_JOBS, namespace, name, lambda obj: obj.update(change))

    async def _advance(self, background: Sequence[asyncio.Task[None]]) -> None:
        """Lets the Job controller work, waits until something has happened, and saves it."""
        self._changed.clear()
        while self._controller.step():
            pass
        changed = asyncio.create_task(self._changed.wait())
        await asyncio.wait({changed, *background}, timeout=self._timeout(), return_when=asyncio.FIRST_COMPLETED)
        changed.cancel()
        for task in background:
            if task.done():
                task.result()
        self._kubelet.check()
        self._handle_stop_requests()
        self._save()
        await self._follow_up()

    async def _follow_up(self) -> None:
        """Starts the jobs that follow those which have ended."""
        for key in [key for key in self._jobs if key not in self._ended and self._has_ended(key)]:
            if self._stopping.is_set():
                return
            self._ended.add(key)
            await self._finish(key)
            self._save()
            for job in await self._following(key):
                self._add(job)
                self._apply(job)

    async def _following(self, key: Key) -> Sequence[LocalJob]:
        """Returns the jobs to start; none if this is to stop while they are chosen."""
        if self._on_end is None:
            return ()
        chosen = asyncio.ensure_future(self._on_end(self._last[key]))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({chosen, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not self._stopping.is_set():
            return await chosen
        chosen.cancel()
        with suppress(asyncio.CancelledError):
            await chosen
        return ()

    def _has_ended(self, key: Key) -> bool:
        ends = is_over(self._last[key]) or (key in self._dropped and self._rests(key))
        return ends and not self._kubelet.runs(key)

    async def _finish(self, key: Key) -> None:
        """Completes the record of a job of which nothing runs."""
        await self._settle(key)
        self._progress[key].catch_up(self._store, *key)

    def _handle_stop_requests(self) -> None:
        """Suspends the jobs that another command has asked to stop."""
        for key, folder in ((key, job.folder) for key, job in self._jobs.items() if job.folder.is_to_stop):
            if self._rests(key) and not self._kubelet.runs(key):
                folder.clear_stop_request()
            else:
                self._suspend(key, at_once=folder.is_to_stop_at_once)

    def _timeout(self) -> float:
        retry = self._controller.next_retry()
        until_retry = (retry - utc_now()).total_seconds() if retry else _PERIOD_SECONDS
        return min(max(until_retry, 0.1), _PERIOD_SECONDS)

    def _is_done(self) -> bool:
        """Whether all jobs are at rest, and their programs have ended or had enough time to end."""
        if not all(map(self._rests, self._jobs)):
            self._rested = None
            return False
        now = asyncio.get_running_loop().time()
        self._rested = self._rested or now
        over = all(is_over(self._last[key]) or key in self._gone for key in self._jobs)
        return not self._kubelet.running or (over and now > self._rested + _LEAVE_SECONDS)

    def _rests(self, key: Key) -> bool:
        return key in self._gone or is_at_rest(self._last[key])

    async def _shut_down(self, background: Sequence[asyncio.Task[None]]) -> None:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await self._kubelet.close()
        if self._rested is not None:
            for key in self._jobs.keys() - self._ended:
                await self._finish(key)
        self._save()
        for job in self._jobs.values():
            job.folder.clear_stop_request()
        self._lease.close()

    async def _settle(self, key: Key) -> None:
        """Reconciles until the status includes everything that has ended."""
        with suppress(ApiError):
            while await self._reconciler.reconcile(key) == timedelta(0):
                pass

    def _on_store_change(self, change: Change) -> None:
        """The watch."""
        meta = change.object["metadata"]
        if change.resource is Resource.QUANTUM_TRAINING_JOBS:
            key = (meta["namespace"], meta["name"])
            self._last[key] = change.object
            if change.type == "DELETED":  # its time to live was over
                self._gone.add(key)
            self._progress[key].notice(change.object)
            self._unsaved.add(key)
            self._queue.add(key)
        elif job := (meta.get("labels") or {}).get(LABEL_JOB):
            key = (meta["namespace"], job)
            self._queue.add(key)
            if change.resource is Resource.PODS and key in self._jobs:
                record_pod(self._jobs[key].folder.path, change, self._kubelet.ports(change.object))
        if change.resource is Resource.EVENTS and change.type == "ADDED":
            self._record_event(change.object)
        self._kubelet.notice(change)
        self._changed.set()
        self._on_change(change)

    def _record_event(self, event: Object) -> None:
        about = event["involvedObject"]
        self._save()  # first: who follows the folder shall find the status that the event is about
        self._jobs[about["namespace"], about["name"]].folder.record_event(event)

    def _save(self) -> None:
        for key in self._unsaved:
            self._jobs[key].folder.save(self._last[key])
        self._unsaved.clear()

    def _machine(self, configs: Configs) -> Machine:
        return Machine(
            name=platform.node() or "localhost",
            addresses=self._addresses,
            artifacts=lambda *key: self._jobs[key].artifacts,
            progress=lambda *key: self._progress[key].path,
            program=lambda *key: self._jobs[key].folder.program,
            log=self._log,
            configs=configs,
        )

    def _log(self, pod: Object) -> Callable[[bytes], None]:
        meta = pod["metadata"]
        return self._jobs[meta["namespace"], meta["labels"][LABEL_JOB]].folder.log(pod)

    def _progress_port(self, key: Key, replica: ReplicaId) -> int:
        namespace, job = key
        return self._addresses.port(namespace, replica_name(job, replica.role, replica.index), METRICS_PORT)


class _LocalPoller(Poller):
    """Polls replicas at the local ports of their Services.

    Args:
        hint: Called with the job whose progress has changed.
        port: Returns the port of a replica.
        on_activity: Called with a job and the activity that its leader reports, at every answer.
    """

    def __init__(
        self,
        hint: Callable[[Key], None],
        port: Callable[[Key, ReplicaId], int],
        on_activity: Callable[[Key, str], None],
    ) -> None:
        super().__init__(hint, _PERIOD_SECONDS, pause=_FOLLOWER_SECONDS)
        self._port = port
        self._on_activity = on_activity

    async def fetch(self, key: Key, replica: ReplicaId, address: str) -> bytes | None:
        """See `Poller.fetch`."""
        try:
            answer = await get(f"http://{address}:{self._port(key, replica)}{PROGRESS_PATH}", _TIMEOUT_SECONDS)
        except TimeoutError:
            raise
        except (OSError, ApiError):
            return None
        if self.is_leader(key, replica) and (activity := activity_in(answer.body.decode(errors="replace"))) is not None:
            self._on_activity(key, activity)
        return answer.body
