"""Asks whether a namespace is being deleted, where what a job runs is: then the job goes too."""

from dataclasses import replace

from qtj_operator.api.status import InferencePhase
from qtj_operator.controller.client import ApiError, Client, Object, Resource
from qtj_operator.core.observed import Observed

__all__ = ["with_namespace"]

_TERMINATING = "Terminating"


async def with_namespace(client: Client, seen: Observed) -> Observed:
    """Returns what was seen, and whether the namespace is being deleted; most passes ask nothing.

    An operator that may not read namespaces, or gets no answer, does without: a disruption it is then.
    """
    if not _loses_children(seen):
        return seen
    try:
        found = await client.get(Resource.NAMESPACES, None, seen.job.namespace)
    except ApiError:
        return seen
    return replace(seen, namespace_ends=found is not None and _ends(found))


def _loses_children(seen: Observed) -> bool:
    """Whether pods of a gang that trains, or an inference Job that runs, are being deleted or are gone."""
    job, inference = seen.job, seen.job.status.inference
    if job.is_over or job.is_suspended or job.spec.suspend:
        return False
    if job.is_trained:
        ran = inference is not None and inference.phase == InferencePhase.RUNNING
        return ran and (seen.inference is None or seen.inference.deleting)
    return seen.gang_has_run and (bool(seen.missing) or any(pod.deleting for pod in seen.current))


def _ends(namespace: Object) -> bool:
    return bool((namespace.get("status") or {}).get("phase") == _TERMINATING)
