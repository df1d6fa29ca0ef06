"""A job on a cluster, to profile it."""

from http import HTTPStatus

from qtj.cluster.connection import job_named
from qtj.cluster.pod_channels import ask_pod
from qtj.local.http import Answer
from qtj.profile.take import NoAnswerError
from qtj_contract import PROFILE_PATH
from qtj_operator.api.job import METRICS_PORT
from qtj_operator.cluster.api import ApiClient
from qtj_operator.controller.client import ApiError, Object

__all__ = ["ClusterTarget"]


class ClusterTarget:
    """A job on a cluster; see `Target`.

    Args:
        client: The cluster.
        namespace: Where the job is.
        job: The job.
    """

    def __init__(self, client: ApiClient, namespace: str, job: Object) -> None:
        self.name = job["metadata"]["name"]
        self.artifacts = (job["spec"].get("artifacts") or {}).get("uri") or ""
        has_board = job["spec"].get("tensorboard") is not None
        shows = f"`qtj tensorboard {self.name} -n {namespace}` shows it, on the page Profile"
        self.viewer = shows if has_board else f"with spec.tensorboard: {{}} in the job, {shows}"
        self._client = client
        self._namespace = namespace

    async def read(self) -> Object:
        """See `Target.read`."""
        return await job_named(self._client, (self._namespace, self.name))

    async def ask(self, replica: str, method: str, body: str = "") -> Answer:
        """See `Target.ask`."""
        pod = f"{self.name}-{replica}"
        try:
            return await ask_pod(
                self._client.transport,
                self._namespace,
                pod,
                port=METRICS_PORT,
                method=method,
                path=PROFILE_PATH,
                body=body,
            )
        except ApiError as error:
            if error.code == HTTPStatus.FORBIDDEN:
                raise  # it says which right is missing
            raise NoAnswerError(str(error)) from None
