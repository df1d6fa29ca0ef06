"""More workers, when the cluster has places for them again: `runPolicy.elastic`.

Three of four workers train, and ten minutes have passed since there are three::

    worker-0 ... 2   attempt=3  Running    worker-3  probe, no node    1. a pod like worker-3 that runs nothing waits
    worker-0 ... 2   attempt=3  Running    worker-3  probe, a node     2. there is a place: attempt 4 is recorded
    worker-0 ... 2   attempt=3  deleting   worker-3  deleting          3. superseded: each stores a checkpoint
    worker-0 ... 3   attempt=4                                         4. all restart with four workers

The scheduler alone knows where a pod fits: affinities, taints, volumes and devices take part. So it is asked with a
pod. Training goes on until the answer is yes, and the operator needs no right to read nodes. A cluster that adds nodes
for pods that wait adds one for a probe. To restart the gang with all workers, only to see whether they fit, would cost
a restart and a wait each time that they do not.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from qtj_operator.api.conditions import ConditionType, find
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import Role, replica_name
from qtj_operator.api.sizes import sizes_of
from qtj_operator.core.decision import Act, Action, Create, Kind, Verdict
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import EndedBy, Pod
from qtj_operator.core.removal import removal
from qtj_operator.core.scaled_down import rescaled
from qtj_operator.manifests.probe import probe_pod

__all__ = ["next_scale_up", "scaled_up"]


def scaled_up(seen: Observed, now: datetime) -> Verdict | None:
    """Looks for places for the workers that are missing, and restarts with as many as have one."""
    due = _due(seen.job)
    if not seen.may_grow or due is None or now < due:
        return None
    placed = sum(map(_has_place, seen.probes))
    missing = tuple(_missing(seen))
    if placed and not any(map(_is_open, seen.probes)) and (not missing or seen.obstacle):
        workers = sizes_of(seen.job.spec)[Role.WORKER] + placed
        return rescaled(seen, workers, f"there are places for {workers} workers", now)
    refused = removal((pod for pod in seen.probes if _is_refused(pod)), now)
    probes = (Create(Kind.POD, partial(probe_pod, seen.job, replica, seen.attempt)) for replica in missing)
    actions: tuple[Action, ...] = (*refused.deletions, *probes)
    return Act(actions, wake_at=refused.wake_at) if actions else None


def next_scale_up(seen: Observed, after: Job, now: datetime) -> datetime | None:
    """Returns when to look for places for more workers."""
    due = _due(after) if after.is_running else None
    return due if due is not None and due > now and _most(after) > sizes_of(after.spec)[Role.WORKER] else None


def _due(job: Job) -> datetime | None:
    """Returns when more workers may be added: a number of workers stays for a while, whatever else happens."""
    elastic, running = job.policy.elastic, find(job.status.conditions, ConditionType.RUNNING)
    if elastic is None or running is None:
        return None
    since = job.status.elastic.since if job.status.elastic else job.status.active_since or running.last_transition_time
    return since + timedelta(seconds=elastic.up_after)


def _most(job: Job) -> int:
    elastic = job.policy.elastic
    return elastic.most(job.workers_asked) if elastic else 0


def _missing(seen: Observed) -> Iterator[ReplicaId]:
    """Yields workers that there might be, and that have neither a pod nor a probe."""
    job, present = seen.job, {pod.name for pod in seen.pods}
    for index in range(sizes_of(job.spec)[Role.WORKER], _most(job)):
        if replica_name(job.name, Role.WORKER, index) not in present:
            yield ReplicaId(Role.WORKER, index)


def _is_refused(pod: Pod) -> bool:
    """Whether its node has refused it, or the cluster takes its place away."""
    return pod.deleting or pod.disrupted or pod.ended_by in {EndedBy.CLUSTER, EndedBy.KUBELET}


def _has_place(pod: Pod) -> bool:
    return not (pod.unplaced or _is_refused(pod))


def _is_open(pod: Pod) -> bool:
    """Whether the scheduler has not said yet if there is a place."""
    return pod.unplaced and pod.unscheduled is None and not pod.deleting
