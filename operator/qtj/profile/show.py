"""What `qtj profile` prints, and a run on this machine as it profiles it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qtj.local.addresses import HOST
from qtj.local.folder import FolderError
from qtj.local.http import Answer, send
from qtj.local.pod_record import local_port_of, recorded_pods
from qtj.profile.take import Length, NoAnswerError, Target, take_profile
from qtj.runs.folders import RecordedRun, find_run
from qtj.terminal.errors import InputError
from qtj_contract import PROFILE_PATH
from qtj_contract.captures import LONGEST_SECONDS, seconds_of
from qtj_operator.api.job import METRICS_PORT
from qtj_operator.api.status import ProfileStatus
from qtj_operator.controller.client import Object

__all__ = ["Taken", "length_of", "profile_on_cluster", "profile_run"]

Say = Callable[[str], None]
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a profile.

    Attributes:
        record: Its record in status.profiles.
        is_stored: Whether there is a profile.
        sentence: What the user reads.
    """

    record: Mapping[str, Any]
    is_stored: bool
    sentence: str


def length_of(duration: str | None, steps: int | None) -> Length:
    """Returns the length of a profile, as the options ask for it.

    Raises:
        InputError: Both are given, or the duration is none, or too long.
    """
    if duration is None:
        return Length(steps=steps)
    if steps is not None:
        raise InputError("--duration and --steps are both given: leave one of them out")
    try:
        seconds = seconds_of(duration)
    except ValueError:
        raise InputError(f"--duration {duration} is not a time: write for example 2s or 500ms") from None
    if not 0 < seconds <= LONGEST_SECONDS:
        raise InputError(f"--duration {duration}: a profile takes from 1ms to {LONGEST_SECONDS:.0f}s")
    return Length(duration=duration)


def profile_run(run: str | None, artifacts: str | None, length: Length, say: Say) -> Taken:
    """Takes a profile of a run on this machine.

    Raises:
        InputError: See `take_profile`; or there is no such run, or it is not active.
    """
    target = LocalTarget(find_run(run, artifacts))
    return _taken(target, asyncio.run(take_profile(target, length, say)))


def profile_on_cluster(name: str, namespace: str | None, length: Length, say: Say) -> Taken:
    """Takes a profile of a job on a cluster.

    Raises:
        InputError: See `take_profile`; or there is no such job, or the API server refuses.
        ModuleNotFoundError: The libraries for it are not installed.
    """
    from qtj.cluster.connection import job_named, on_cluster
    from qtj.profile.cluster import ClusterTarget
    from qtj_operator.cluster.api import ApiClient

    async def take(client: ApiClient, where: str) -> Taken:
        target = ClusterTarget(client, where, await job_named(client, (where, name)))
        return _taken(target, await take_profile(target, length, say))

    return on_cluster(take, namespace, f"{name} cannot be profiled")


def _taken(target: Target, profile: ProfileStatus) -> Taken:
    record = profile.model_dump(exclude_none=True)
    if profile.path is None:
        failed = f"{target.name}: the profile {profile.name} failed: {profile.error}"
        return Taken(record, is_stored=False, sentence=failed)
    where = f"{target.artifacts.rstrip('/')}/{profile.path}"
    missing = f"; of some replicas there is none: {profile.error}" if profile.error else ""
    return Taken(record, is_stored=True, sentence=f"the profile is in {where}{missing}\n{target.viewer}")


class LocalTarget:
    """A run on this machine; see `Target`.

    Args:
        run: The run.

    Raises:
        InputError: It is not active.
    """

    def __init__(self, run: RecordedRun) -> None:
        if not run.folder.is_active:
            raise InputError(f"{run.name} is not active, and only a job that trains can be profiled: see `qtj list`")
        self.name = run.name
        self.artifacts = run.folder.bucket or str(run.folder.path)
        self.viewer = f"`qtj tensorboard {run.name}` shows it, on the page Profile"
        self._folder = run.folder
        self._job = run.job["metadata"]["name"]

    async def read(self) -> Object:
        """See `Target.read`."""
        try:
            job: Object = self._folder.load()
        except FolderError as problem:
            raise InputError(str(problem)) from None
        return job

    async def ask(self, replica: str, method: str, body: str = "") -> Answer:
        """See `Target.ask`."""
        url = f"http://{HOST}:{self._port(replica)}{PROFILE_PATH}"
        try:
            return await send(method, url, body, _TIMEOUT_SECONDS)
        except OSError as problem:
            raise NoAnswerError(str(getattr(problem, "reason", problem))) from None

    def _port(self, replica: str) -> int:
        pods = recorded_pods(self._folder.path)
        pod = next((each for each in pods if each["metadata"]["name"] == f"{self._job}-{replica}"), None)
        port = local_port_of(pod, METRICS_PORT) if pod else None
        if port is None:
            raise NoAnswerError("its port is not recorded: it has not started, or an earlier version of qtj runs it")
        return port
