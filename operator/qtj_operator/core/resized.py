"""Another number of replicas, which a user may ask for at any time.

Two workers, and the user asks for three::

    worker-0, worker-1   attempt=1  Running     1. attempt 2 is recorded, with three workers
    worker-0, worker-1   attempt=1  deleting    2. superseded: each stores a checkpoint within its grace period
    worker-0 ... 2       attempt=2              3. all replicas start with three workers in TF_CONFIG

The record has the numbers of the current attempt (`status.replicas.*.desired`), so an edit in the middle of an attempt
changes neither its pods nor its Services. Every new attempt takes the numbers that the spec has then, whatever the
reason for the attempt is.
"""

from collections.abc import Mapping
from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.job import Job
from qtj_operator.api.sizes import R
from qtj_operator.core.change import new_attempt
from qtj_operator.core.decision import Move
from qtj_operator.core.invalid_spec import fault
from qtj_operator.core.observed import Observed

__all__ = ["not_taken", "resized", "sizes_in_words"]


def resized(seen: Observed, _now: datetime) -> Move | None:
    """All replicas restart with the numbers that the user asks for, from the last checkpoint.

    That is neither a failure nor a disruption: no limit counts it, and no pause follows. Under ParameterServer too,
    all restart, because a coordinator reads its cluster once. A queue admits the new attempt like every other.
    """
    if not seen.job.resizes or seen.job.edited or not_taken(seen, seen.job):
        return None
    attempt = seen.attempt + 1
    message = f"{sizes_in_words(seen.job.resizes)}: all replicas restart as attempt {attempt}"
    return Move(new_attempt(attempt), conditions=(conditions.not_running(Reason.RESIZING, message),))


def not_taken(seen: Observed, job: Job) -> str | None:
    """Returns why no attempt will have the numbers of replicas that the user asks for; None if one will.

    Args:
        seen: What was observed.
        job: The job as it is after the pass.
    """
    if not job.resizes:
        return None
    if job.is_trained or seen.leader_done:
        return f"{sizes_in_words(job.resizes)} has no effect: training has ended"
    wrong = None if job.has_failed else fault(job.as_asked(), seen.platform)
    return wrong and f"{sizes_in_words(job.resizes)} has no effect: {wrong}"


def sizes_in_words(changes: Mapping[R, tuple[int, int]]) -> str:
    """Returns changed numbers of replicas as "Worker from 2 to 4"."""
    return ", ".join(f"{role} from {before} to {after}" for role, (before, after) in changes.items())
