"""Until when a job's spec can be changed."""

from collections.abc import Iterator

from qtj_contract import Progress
from qtj_operator.api.conditions import ConditionType, Reason, is_true
from qtj_operator.api.job import Job
from qtj_operator.api.names import Role
from qtj_operator.api.status import Phase, ProgressStatus, ReplicaStatus, Status

__all__ = ["has_progress", "has_run", "ignores_edit", "is_editable", "without_evaluator"]


def has_run(status: Status) -> bool:
    """Whether a replica has run and may have trained, by the record: then the API server has accepted the template.

    Some replicas may train while a quota has no room for the others. An earlier operator, which did not record when a
    job ran, did not write `activeSince` either.
    """
    ended = status.failures or status.restarts or status.disruptions or status.weights
    succeeded = any(counts.succeeded_indexes for counts in without_evaluator(status))
    trained = succeeded or is_true(status.conditions, ConditionType.TRAINED)
    began = status.first_running_time or (status.progress is not None and has_progress(status.progress))
    return bool(ended or trained or began) or status.active_since is None


def without_evaluator(status: Status) -> Iterator[ReplicaStatus]:
    """Yields the counts of the roles that training waits for."""
    return (counts for role, counts in status.replicas.items() if role != Role.EVALUATOR.value)


def has_progress(progress: Progress | ProgressStatus) -> bool:
    """Whether a program has trained; every field but the epoch may be missing."""
    return any((progress.epoch, progress.step, progress.checkpoint_step))


def is_editable(status: Status) -> bool:
    """Whether nothing has run, and nothing is about to. The CRD, which knows less, then allows every change."""
    stopped = status.phase in {Phase.SUSPENDED, Phase.FAILED} or status.attempt_start_time is None
    return (stopped or status.reason == Reason.CHILD_REJECTED) and not has_run(status)


def ignores_edit(job: Job) -> bool:
    """Whether the spec was changed too late."""
    return job.edited and not is_editable(job.status)
