"""Until when a job's spec can be changed."""

from qtj_operator.api.conditions import ConditionType, Reason, is_true
from qtj_operator.api.job import Job
from qtj_operator.api.status import Phase, Status

__all__ = ["has_run", "ignores_edit", "is_editable"]


def has_run(status: Status) -> bool:
    """Whether a replica has run and may have trained, by the record: then the API server has accepted the template.

    Some replicas may train while a quota has no room for the others. An earlier operator, which did not record when a
    job ran, did not write `activeSince` either.
    """
    ended = status.failures or status.restarts or status.disruptions or status.weights
    trained = (status.progress and status.progress.step) or any(
        counts.succeeded_indexes for counts in status.replicas.values()
    )
    known = status.first_running_time or ended or trained or is_true(status.conditions, ConditionType.TRAINED)
    return bool(known) or status.active_since is None


def is_editable(status: Status) -> bool:
    """Whether nothing has run, and nothing is about to. The CRD, which knows less, then allows every change."""
    stopped = status.phase in {Phase.SUSPENDED, Phase.FAILED} or status.reason == Reason.CHILD_REJECTED
    return stopped and not has_run(status)


def ignores_edit(job: Job) -> bool:
    """Whether the spec was changed too late."""
    return job.edited and not is_editable(job.status)
