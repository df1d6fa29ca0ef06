"""Whether the cluster has the CRD of jobs, and whether they may be read."""

import asyncio
import logging

from qtj_operator.api.names import API_VERSION, GROUP
from qtj_operator.controller.client import ApiError, Client, Resource

__all__ = ["check_installed"]

log = logging.getLogger(__name__)

_PAUSE_SECONDS = 2.0
_OF_NO_JOB = {f"{GROUP}/asks": "nothing"}
"""A label that no job has: whether jobs may be listed is to be known, and there may be thousands."""
_FINAL = {401, 403, 404}
"""HTTP statuses that time does not cure. Others pass, such as those of a server whose etcd is in trouble, and that is
when another operator has to take over."""
_BUSY = 429
"""The API server asks for another try later."""


async def check_installed(client: Client, namespace: str | None, *, patient: bool) -> None:
    """Finds out at once whether the CRD is there and may be read: kopf would wait for it and log nothing.

    Args:
        client: The cluster.
        namespace: The only namespace to look after; None for all.
        patient: Whether to wait for an API server that is out of reach or in trouble; a leader does, for it has just
            been there. One that asks for another try later is waited for in any case: it does so for a CRD that was
            installed just now.
    """
    while True:
        try:
            await client.list(Resource.QUANTUM_TRAINING_JOBS, namespace, _OF_NO_JOB)
        except ApiError as error:
            if error.code == 404:
                raise ApiError(404, error.reason, f"the cluster has no {API_VERSION}: kubectl apply -f crds/") from None
            if error.code in _FINAL or not (patient or error.code == _BUSY):
                raise
            log.warning("jobs cannot be listed: %s; next try in %.1f s", error, _PAUSE_SECONDS)
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
