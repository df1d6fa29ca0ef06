"""`qtj logs` of a job of a cluster: the logs of its pods, which the kubelets of their nodes have.

job, pods ──every 2 s──▶ a reader for each new pod ──lines──▶ LogWriter
                         (until its container has ended)

A kubelet deletes a log together with its pod. So the log of an earlier attempt can be followed while it is written, and
is gone afterwards.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from qtj.cluster.connection import job_named
from qtj.cluster.request import read_log
from qtj.local.folder import log_place
from qtj.monitor.cluster_source import pods_of
from qtj.monitor.log_writer import LogWriter, log_filter
from qtj.monitor.snapshot import is_unstarted, main_container_name, spec_of
from qtj.monitor.watch import PERIOD_SECONDS, until_answered
from qtj.runs.status_text import phase_message
from qtj.terminal.errors import InputError
from qtj.terminal.output_format import OutputFormat
from qtj.terminal.streams import print_stderr
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_JOB
from qtj_operator.api.reading import read_status
from qtj_operator.api.status import FINISHED, Failure
from qtj_operator.api.template import main_name
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Key, Object, Resource
from qtj_operator.controller.parse import parse_pod

__all__ = ["copy_cluster_logs"]

_NOT_FOUND = 404
_LAST_SECONDS = 10.0
"""How long the programs of a job that has finished may take to end."""
_MOST = 90
"""Logs that are followed at once: each is a connection to the API server, and the client opens 100 at most."""


@dataclass(frozen=True, slots=True)
class _Log:
    """The log of one pod.

    Attributes:
        name: Its name, such as qcnn-worker-0.2.
        pod: The pod.
        container: The container whose log it is.
    """

    name: str
    pod: Object
    container: str

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        uid: str = self.pod["metadata"]["uid"]
        return uid

    @property
    def is_unstarted(self) -> bool:
        """Whether its program has not started yet."""
        return is_unstarted(parse_pod(self.pod, self.container))

    @property
    def has_ended(self) -> bool:
        """Whether its program has ended."""
        return parse_pod(self.pod, self.container).ending is not None

    def complaint(self, problem: ApiError) -> str:
        """Returns the sentence about a log that cannot be read; the API server takes a node that is gone for a pod."""
        node = self.pod["spec"].get("nodeName")
        is_of_node = problem.code == _NOT_FOUND and node and f'"{node}"' in str(problem)
        why = f"its node {node} is no longer in the cluster" if is_of_node else problem
        return f"qtj: the log of {self.name} cannot be read: {why}"


async def copy_cluster_logs(
    client: ApiClient,
    key: Key,
    replica: str | None,
    *,
    follow: bool = False,
    form: OutputFormat | None = None,
    out: TextIO | None = None,
) -> None:
    """Writes the logs of a job, by attempt and replica; where there are several, a name before each line.

    What cannot be read is a sentence on stderr.

    Args:
        client: The cluster.
        key: Namespace and name of the job.
        replica: The replica, with or without its attempt; None for all.
        follow: Whether to wait for more until the job has finished, across its attempts.
        form: The form for programs; None for text.
        out: Where they are written; None for stdout.

    Raises:
        InputError: There is no such job, or no such log.
        ApiError: The API server refuses, or cannot be reached.
    """
    job = await job_named(client, key)
    if follow:
        await _Following(client, key, replica, LogWriter(named=True, form=form, out=out)).run()
        return
    logs = await _logs_of(client, job, replica)
    for note in _lost(job, logs, replica):
        print_stderr(f"qtj: {note}")
    if not logs:
        raise InputError(f"{key[1]} has no pod of {replica or 'any replica'}, and so no log: {_see(key)}")
    waiting = [log for log in logs if log.is_unstarted]
    if len(waiting) == len(logs):
        raise InputError(_unstarted(waiting, key, phase_message(job.get("status") or {})))
    if waiting:
        print_stderr(f"qtj: {_unstarted(waiting, key)}")
    writer = LogWriter(named=len(logs) > 1, form=form, out=out)
    for log in logs:
        if log.is_unstarted:
            continue
        _, complaint = await _copy(client, log, writer)
        if complaint:
            print_stderr(complaint)


async def _copy(
    client: ApiClient, log: _Log, writer: LogWriter, *, follow: bool = False, after: str = ""
) -> tuple[str, str]:
    """Copies what was written after a time; returns the time of the last line, and why there was no more."""
    meta = log.pod["metadata"]
    try:
        async for line in read_log(
            client.transport, meta["namespace"], meta["name"], log.container, follow=follow, after=after
        ):
            after = line.time
            writer.write(log.name, line.text, line.time)
            if follow:
                writer.flush()
    except ApiError as problem:
        return after, log.complaint(problem)
    finally:
        writer.flush()
    return after, ""


class _Following:
    """Follows the logs of a job."""

    def __init__(self, client: ApiClient, key: Key, replica: str | None, writer: LogWriter) -> None:
        self._client = client
        self._key = key
        self._replica = replica
        self._writer = writer
        self._readers: dict[str, asyncio.Task[None]] = {}
        """By the uid of the pod: one that is replaced has the same name."""

    async def run(self) -> None:
        """Follows until the job has finished or is deleted."""
        try:
            while (job := await self._get(Resource.QUANTUM_TRAINING_JOBS, self._key[1])) is not None:
                await self._start(job)
                is_over = (job.get("status") or {}).get("phase") in FINISHED
                await self._wait(_LAST_SECONDS if is_over else PERIOD_SECONDS, until_all=is_over)
                if is_over:
                    return
        finally:
            for reader in self._readers.values():
                reader.cancel()
            await asyncio.gather(*self._readers.values(), return_exceptions=True)

    async def _start(self, job: Object) -> None:
        logs = await until_answered(lambda: _logs_of(self._client, job, self._replica), _complain)
        if len(logs) > _MOST:
            raise InputError(
                f"{self._key[1]} has {len(logs)} logs, and {_MOST} can be followed at once: name a replica, such as "
                f"{logs[0].name}"
            )
        if logs and not self._readers and all(log.is_unstarted for log in logs):
            _complain(_unstarted(logs, self._key, phase_message(job.get("status") or {})))
        for log in logs:
            if log.uid not in self._readers:
                self._readers[log.uid] = asyncio.create_task(self._follow(log))

    async def _wait(self, seconds: float, *, until_all: bool = False) -> None:
        """Waits; an error of a reader, such as a pipe that nobody reads, ends the command."""
        running = [reader for reader in self._readers.values() if not reader.done()]
        if running:
            how = asyncio.ALL_COMPLETED if until_all else asyncio.FIRST_EXCEPTION
            await asyncio.wait(running, timeout=seconds, return_when=how)
        elif not until_all:
            await asyncio.sleep(seconds)
        for reader in self._readers.values():
            if reader.done():
                reader.result()

    async def _follow(self, log: _Log) -> None:
        """Copies the log of one pod until its container has ended, or the pod is gone."""
        after = ""
        while True:
            after, complaint = await _copy(self._client, log, self._writer, follow=True, after=after)
            if log.has_ended:
                break
            pod = await self._get(Resource.PODS, log.pod["metadata"]["name"])
            if pod is None or pod["metadata"]["uid"] != log.uid:
                break
            log = replace(log, pod=pod)
            if not log.has_ended:
                await asyncio.sleep(PERIOD_SECONDS)  # it has not started, or the connection was lost
        if complaint and not after:
            print_stderr(complaint)

    async def _get(self, resource: Resource, name: str) -> Object | None:
        """Returns an object of the namespace; waits while the API server does not answer."""
        return await until_answered(lambda: self._client.get(resource, self._key[0], name), _complain)


async def _logs_of(client: ApiClient, job: Object, replica: str | None) -> Sequence[_Log]:
    meta, spec = job["metadata"], spec_of(job)
    pods = await client.list(Resource.PODS, meta["namespace"], {LABEL_JOB: meta["name"]})
    is_named = log_filter(meta["name"], replica)
    logs = [
        _Log(_log_name(pod), pod, main_container_name(spec, pod) or _first_container(pod)) for pod in pods_of(job, pods)
    ]
    return sorted((log for log in logs if is_named(log.name)), key=lambda log: log_place(log.name))


def _complain(sentence: str) -> None:
    print_stderr(f"qtj: {sentence}")


def _log_name(pod: Object) -> str:
    meta = pod["metadata"]
    attempt = meta["labels"].get(LABEL_ATTEMPT)
    return f"{meta['name']}.{attempt}" if attempt else str(meta["name"])


def _first_container(pod: Object) -> str:
    return main_name([each["name"] for each in pod["spec"]["containers"]])


def _lost(job: Object, logs: Sequence[_Log], replica: str | None) -> Iterator[str]:
    """Yields a sentence for each failure whose pod is gone: its last message is all that is left of its log."""
    present, is_named = {log.uid for log in logs}, log_filter(job["metadata"]["name"], replica)
    for failure in read_status(job).failures:
        if failure.uid not in present and is_named(f"{failure.pod}.{failure.attempt}"):
            yield f"{failure.pod}.{failure.attempt} is gone with its log: {_how(failure)}"


def _how(failure: Failure) -> str:
    code = "" if failure.exit_code is None else f" with exit code {failure.exit_code}"
    return f"it ended{code} ({failure.reason}): {failure.message}"


def _unstarted(logs: Sequence[_Log], key: Key, why: str = "") -> str:
    """Returns the sentence about pods whose programs have not started."""
    more = f" and {len(logs) - 1} more" if logs[1:] else ""
    have = "have" if more else "has"
    events = f"`qtj events {key[1]} -n {key[0]}` shows {'more' if why else 'why'}"
    return f"{logs[0].name}{more} {have} not started, and so {have} no log: {f'{why}; ' if why else ''}{events}"


def _see(key: Key) -> str:
    return f"`qtj status {key[1]} -n {key[0]}` shows why"
