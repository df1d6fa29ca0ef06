"""An inference whose result was lost: it runs again, a few times.

The result is in the termination message of its pod. The pod may be gone before that was read, for example while no
operator runs, or the whole Job. The operator may not read the artifacts, where the program may have stored its result.
"""

from qtj_contract.inference_result import result_uri
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.names import inference_name
from qtj_operator.api.status import InferencePhase, InferenceStatus
from qtj_operator.core.change import StatusChange
from qtj_operator.core.decision import Move
from qtj_operator.core.inference_end import inference_failed
from qtj_operator.core.observed import Observed

__all__ = ["RESULT_LOST", "inference_lost"]

_MOST_RESTARTS = 5

RESULT_LOST = conditions.not_complete(
    Reason.INFERRING, "inference has ended, and its pod is gone before its result was read: it runs again"
)


def inference_lost(seen: Observed, known: InferenceStatus) -> Move | None:
    """Counts that a Job which ran is gone; after some times, the job fails.

    A Job that the operator removes itself is not on record as running, unless its result was lost.
    """
    if known.phase != InferencePhase.RUNNING:
        return None
    name, count = inference_name(seen.job.name), (known.restarts or 0) + 1
    if count > _MOST_RESTARTS:
        return inference_failed(_always_gone(seen, name, count), known)
    again = InferenceStatus(phase=InferencePhase.PENDING, run=known.run, restarts=count)
    why = f"{name} or its pod was gone before its result was read, and runs again ({count} of {_MOST_RESTARTS} times)"
    return Move(StatusChange(inference=again), conditions=(conditions.not_complete(Reason.INFERRING, why),))


def _always_gone(seen: Observed, name: str, count: int) -> str:
    weights = seen.job.status.weights
    stored = f", or look at {result_uri(weights.uri)}, where the trainer stores its result" if weights else ""
    return (
        f"{name} or its pod was gone {count} times before its result was read: find out who deletes them, "
        f"then qtj retry {seen.job.name}{stored}"
    )
