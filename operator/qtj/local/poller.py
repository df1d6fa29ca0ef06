"""Polls leaders and evaluators on this machine for their progress."""

from collections.abc import Callable

from qtj.local.http import get
from qtj_contract import PROGRESS_PATH, activity_in
from qtj_operator.api.job import ReplicaId
from qtj_operator.controller.client import ApiError, Key
from qtj_operator.controller.progress import Poller

__all__ = ["LocalPoller"]

_PERIOD_SECONDS = 0.5
_FOLLOWER_SECONDS = 2.0
_TIMEOUT_SECONDS = 2.0


class LocalPoller(Poller):
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
