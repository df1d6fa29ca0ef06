"""A gang in which no replica takes a step any more: `runPolicy.progressDeadlineSeconds`.

Replicas take each step together, so one that hangs stops all of them. Two workers, with a deadline of 60 s::

    worker-0  after step 41, 62 s ago    waits for its peer
    worker-1  after step 40, 63 s ago    hangs: its peers have taken a step more

    worker-0  after step 40, 62 s ago    waits for its peer
    worker-1  does not answer            hangs: a stopped process

    worker-0  after step 40, 300 s ago   waits for its peer
    worker-1  outside of steps           stores a checkpoint: nobody hangs

How long ago a step was is told by the replicas, so an operator that restarts knows it again. Nothing is decided by
silence alone: a replica that cannot be reached may train.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from qtj_operator.api import conditions
from qtj_operator.api.conditions import ConditionType, Reason
from qtj_operator.api.job import Job
from qtj_operator.core.decision import Move, Wait
from qtj_operator.core.heard import Heard, is_late
from qtj_operator.core.lost_replica import lost_replica
from qtj_operator.core.observed import Observed
from qtj_operator.core.pod import Ending, Pod

__all__ = ["next_heartbeat", "no_progress"]

_SOON = timedelta(seconds=5)
"""When to look again at a gang that seems to hang while one of its replicas is outside of steps."""


class _Member(NamedTuple):
    pod: Pod
    heard: Heard


def no_progress(seen: Observed, now: datetime) -> Move | Wait | None:
    """Restarts a gang that hangs, as after the failure of the replica that the others wait for."""
    limit = seen.job.policy.progress_deadline_seconds
    if limit is None or not _may_hang(seen):
        return None
    known = [_Member(pod, heard) for pod in seen.stepping if pod.replica and (heard := seen.heard.get(pod.replica))]
    if len(known) < len(seen.stepping):
        return None  # the others were not asked yet
    members = [member for member in known if not member.heard.tells_nothing]
    if not _hangs([member.heard for member in members], limit):
        return None
    hung = {culprit.pod.name: why for culprit, why in _culprits(members, seen.job, limit)}
    verdict = lost_replica(replace(seen, pods=tuple(_ended(pod, hung.get(pod.name)) for pod in seen.pods)), now)
    return _named(verdict) if isinstance(verdict, Move) else verdict


def next_heartbeat(seen: Observed, after: Job, now: datetime) -> datetime | None:
    """Returns when to look again at how old the last steps are."""
    limit = seen.job.policy.progress_deadline_seconds
    if limit is None or not after.is_running or not _may_hang(seen):
        return None
    age = max((heard.age or 0.0 for heard in seen.heard.values()), default=0.0)
    left = timedelta(seconds=int(limit - age) + 1)
    return now + max(min(left, timedelta(seconds=limit / 4)), _SOON)


def _may_hang(seen: Observed) -> bool:
    return seen.gang_runs and not seen.leader_done


def _hangs(heard: Sequence[Heard], limit: int) -> bool:
    """Whether all are late, and one of them for certain. One that is outside of steps and answers is not."""
    return all(is_late(each, limit if each.age is not None else limit / 2) for each in heard) and any(
        (each.age or 0.0) >= limit for each in heard
    )


def _culprits(members: Sequence[_Member], job: Job, limit: int) -> list[tuple[_Member, str]]:
    """Returns whom the others wait for, with a sentence about each; the leader stands for all if nobody knows."""
    if silent := [member for member in members if member.heard.silent >= limit / 2]:
        return [(member, _silent(member.heard)) for member in silent]
    last = max(member.heard.step or 0 for member in members)
    if behind := [member for member in members if (member.heard.step or 0) < last]:
        return [(member, f"{_late(member.heard)}, while its peers are after step {last}") for member in behind]
    leader = next((member for member in members if member.pod.replica == job.leader), members[0])
    alike = "" if len(members) == 1 else f", like its {len(members) - 1} peers, so the culprit is not known"
    return [(leader, f"{_late(leader.heard)}{alike}")]


def _silent(heard: Heard) -> str:
    after = "" if heard.step is None else f", since step {heard.step}"
    return f"it has not answered for {heard.silent:.0f} s{after}; a process that is stopped cannot write its stack"


def _late(heard: Heard) -> str:
    after = "" if heard.step is None else f" after step {heard.step}"
    place = heard.beat.place if heard.beat else ""
    at = f", at {place}, and wrote the stack of each thread into its log" if place else ""
    return f"it has taken no step for {heard.age or 0:.0f} s{after}{at}"


def _ended(pod: Pod, why: str | None) -> Pod:
    """Returns the pod as if its program had ended: from here on, everything is as after any other failure."""
    return pod if why is None else replace(pod, ending=Ending(exit_code=None, reason=Reason.NO_PROGRESS, text=why))


def _named(verdict: Move) -> Move:
    """Returns the verdict with the reason of this failure for the restart."""
    renamed = (
        conditions.not_running(Reason.NO_PROGRESS, fact.message)
        if fact.type == ConditionType.RUNNING and fact.reason == Reason.RESTARTING
        else fact
        for fact in verdict.conditions
    )
    return Move(verdict.change, conditions=tuple(renamed), events=verdict.events)
