"""A run on this machine, to profile it."""

from qtj.local.addresses import HOST
from qtj.local.folder import FolderError
from qtj.local.http import Answer, send
from qtj.local.pod_record import local_port_of, recorded_pods
from qtj.profile.take import NoAnswerError
from qtj.runs.folders import RecordedRun
from qtj.terminal.errors import InputError
from qtj_contract import PROFILE_PATH
from qtj_operator.api.job import METRICS_PORT
from qtj_operator.controller.client import Object

__all__ = ["LocalTarget"]

_TIMEOUT_SECONDS = 10.0


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
