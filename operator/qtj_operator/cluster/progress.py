"""Asks leading replicas for their progress over the cluster's network."""

from collections.abc import Callable

import aiohttp

from qtj_contract import PROGRESS_LIMIT, PROGRESS_PATH
from qtj_operator.api.job import METRICS_PORT, ReplicaId
from qtj_operator.controller.client import Key
from qtj_operator.controller.progress import Poller

__all__ = ["ProgressPoller"]

_PERIOD_SECONDS = 5.0
_STEP_SECONDS = 30.0
"""How often the step is written into the status between two epochs: each time costs a pass and a write."""

_FOLLOWER_SECONDS = 30.0
"""How often followers tell how long their steps take, in a gang of up to 48 of them."""

_TIMEOUT = aiohttp.ClientTimeout(total=2, sock_connect=1.5)
"""Shorter for the connection, which tells a pod that is out of reach from a process that is stopped: its kernel still
takes connections."""


class ProgressPoller(Poller):
    """Polls the metrics port of pods.

    Args:
        hint: Called with the key of every job whose progress has changed.
    """

    def __init__(self, hint: Callable[[Key], None]) -> None:
        super().__init__(hint, _PERIOD_SECONDS, patience=_STEP_SECONDS, pause=_FOLLOWER_SECONDS)
        self._session: aiohttp.ClientSession

    async def run(self) -> None:
        """Polls until cancelled."""
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as self._session:
            await super().run()

    async def fetch(self, _key: Key, _replica: ReplicaId, address: str) -> bytes | None:
        """See `Poller.fetch`."""
        host = f"[{address}]" if ":" in address else address
        try:
            # No redirects: a training program must not make the operator ask others in its place.
            url = f"http://{host}:{METRICS_PORT}{PROGRESS_PATH}"
            async with self._session.get(url, allow_redirects=False) as answer:
                return await _beginning(answer.content)
        except aiohttp.ClientError:  # also a connection that takes too long
            return None
        except TimeoutError:
            raise
        except OSError:
            return None


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    """Reads to the end or to the limit: one `read` returns what has arrived, which may be a piece."""
    body = b""
    while len(body) < PROGRESS_LIMIT and (piece := await content.read(PROGRESS_LIMIT - len(body))):
        body += piece
    return body
