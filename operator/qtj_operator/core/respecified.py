"""A spec that was changed before anything ran."""

from dataclasses import replace
from datetime import datetime

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Reason
from qtj_operator.api.names import Role
from qtj_operator.core.change import StatusChange, new_attempt
from qtj_operator.core.decision import Move
from qtj_operator.core.editable import has_progress, has_run, is_editable, without_evaluator
from qtj_operator.core.invalid_spec import invalid_spec
from qtj_operator.core.observed import Observed

__all__ = ["respecified"]


def respecified(seen: Observed, now: datetime) -> Move | None:
    """The job starts with the changed spec, or fails if that can never run.

    The API server allows the change while a child is refused. Other pods may exist by then, because a quota had room
    for some, or has room for all since: they have the earlier spec, so a new attempt replaces them. Pods that may have
    trained are kept; whoever suspends the job ends them.
    """
    if not seen.job.edited or has_run(seen.job.status):
        return None
    if seen.current and (_may_have_trained(seen) or not is_editable(seen.job.status)):
        return None
    if invalid := invalid_spec(replace(seen, job=seen.job.as_asked()), now):
        return invalid
    digests = StatusChange(spec_digest=seen.job.digest, fixed_digest=seen.job.fixed_digest)
    change = digests | StatusChange(attempt_start_time=None, last_running_attempt=None)
    if not seen.current:
        return Move(change)
    attempt = seen.attempt + 1
    starting = conditions.not_running(Reason.STARTING, f"attempt {attempt} starts with the changed spec")
    return Move(change | new_attempt(attempt), conditions=(starting,))


def _may_have_trained(seen: Observed) -> bool:
    """Whether pods of the earlier spec may have done more than to wait, by what the status does not say yet."""
    ended = any(pod.ending for pod in seen.current)
    alone = not seen.job.trains_together and any(pod.phase != "Pending" for pod in seen.current)
    return ended or alone or _all_were_ready(seen) or (seen.progress is not None and has_progress(seen.progress))


def _all_were_ready(seen: Observed) -> bool:
    """Whether as many replicas are ready as the earlier spec had."""
    wanted = sum(counts.desired for counts in without_evaluator(seen.job.status))
    ready = [pod for pod in seen.current if pod.ready and pod.replica and pod.replica.role != Role.EVALUATOR]
    return len(ready) >= wanted
