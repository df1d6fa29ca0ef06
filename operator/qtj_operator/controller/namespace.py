"""Asks whether a namespace is being deleted, where pods of a gang that runs are: then its jobs go too."""

from dataclasses import replace

from qtj_operator.controller.client import ApiError, Client, Object, Resource
from qtj_operator.core.observed import Observed

__all__ = ["with_namespace"]

_TERMINATING = "Terminating"


async def with_namespace(client: Client, seen: Observed) -> Observed:
    """Returns what was seen, and whether the namespace is being deleted; most passes ask nothing.

    An operator that may not read namespaces, or gets no answer, does without: a disruption it is then.
    """
    if not _loses_pods(seen):
        return seen
    try:
        found = await client.get(Resource.NAMESPACES, None, seen.job.namespace)
    except ApiError:
        return seen
    return replace(seen, namespace_ends=found is not None and _ends(found))


def _loses_pods(seen: Observed) -> bool:
    """Whether members of a gang that trains are being deleted, or are gone."""
    job = seen.job
    if not seen.gang_has_run or job.is_trained or job.is_over or job.is_suspended or job.spec.suspend:
        return False
    alone = job.stands_alone
    return any(pod.deleting for pod in seen.gang) or any(not alone(each.role) for each in seen.missing)


def _ends(namespace: Object) -> bool:
    return bool((namespace.get("status") or {}).get("phase") == _TERMINATING)
