"""Children that are missing, or that differ from how they were built."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.names import Role, replica_name, tensorboard_name
from qtj_operator.core.change import NO_REPORT, Report
from qtj_operator.core.decision import Act, Action, Create, Delete, Event, Kind, Restore, Verdict, Wait, act_or_wait
from qtj_operator.core.editable import has_run
from qtj_operator.core.observed import Observed
from qtj_operator.core.removal import removal
from qtj_operator.core.service import Service, are_present, merged
from qtj_operator.core.status import is_training
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.queueing import member_count, members, native_pod_group, pod_group
from qtj_operator.manifests.service import replica_service, replicas_of_services, service_selector, service_spec

__all__ = ["drifted", "incomplete"]

_RESTORED = ("selector", "publishNotReadyAddresses")
"""Fields of a Service that others rely on, besides the values of its ports. Fields that an API server or an admission
webhook adds stay."""


def incomplete(seen: Observed, now: datetime) -> Verdict | None:
    """Until training has ended, every replica has a Service and its pod, and a gang its group if one is asked for.

    The actions are done in this order: a pod's peers look up its name as soon as they run. A pod that is being deleted
    keeps its name; if its node does not answer, it is deleted by force.
    """
    services = replicas_of_services(seen.job)
    missing: list[Action] = [
        Create(Kind.SERVICE, partial(replica_service, seen.job, replica))
        for name, replica in services.items()
        if name not in seen.services
    ]
    pods: list[Action] = [
        Create(Kind.POD, partial(replica_pod, seen.job, replica, seen.attempt, native=seen.pod_groups.native))
        for replica in seen.missing
    ]
    if seen.job.gang and not seen.pod_groups.current:
        missing.append(_group(seen))
    leaving = removal((pod for pod in seen.current if pod.deleting), now)
    if seen.job.edited and (missing or pods):
        facts = () if _trains_without(seen) else (_spec_changed(seen),)
        return act_or_wait(leaving.deletions, leaving.wake_at, conditions=facts)
    if taken := _taken(seen, services) if missing or pods else None:
        return act_or_wait(leaving.deletions, leaving.wake_at, conditions=(taken,))
    # From here on, pods wait only for the cluster: `pendingDeadlineSeconds` counts.
    report = NO_REPORT if seen.job.status.attempt_start_time else Report(attempt_start_time=now)
    unwanted = _unwanted_services(seen, services) if missing or pods else ()
    actions = (*leaving.deletions, *unwanted, *_groups_restored(seen), *missing, *pods)
    verdict = act_or_wait(actions, leaving.wake_at, report=report)
    return None if verdict == Wait() else verdict


def _taken(seen: Observed, services: Collection[str]) -> Fact | None:
    """Returns that an earlier job of this name, which was deleted just now, still has names that are needed."""
    job = seen.job
    pods = {replica_name(job.name, each.role, each.index) for each in seen.missing} if seen.earlier else set()
    names = sorted(seen.earlier & {*pods, *services})
    if not names:
        return None
    more = f" and {len(names) - 1} more" if names[1:] else ""
    message = f"{names[0]}{more} of an earlier job of this name still ends: this job starts when the name is free"
    return conditions.not_running(Reason.TERMINATING, message)


def _unwanted_services(seen: Observed, services: Collection[str]) -> Iterator[Delete]:
    """Yields the deletion of Services of an earlier spec, which count for a quota.

    They are deleted only where replicas are about to start: until then, pods of the earlier spec may use them.
    """
    for name, service in seen.services.items():
        if name not in services and name != tensorboard_name(seen.job.name):
            yield Delete(Kind.SERVICE, name, service.version)


def _trains_without(seen: Observed) -> bool:
    """Whether the gang runs, and needs none of the pods that are missing."""
    alone = {each for each in seen.job.replicas() if each.role == Role.WORKER and seen.job.stands_alone(each.role)}
    return is_training(seen) and not (alone and alone <= set(seen.missing))


def _spec_changed(seen: Observed) -> Fact:
    ways = "undo the change" + ("" if has_run(seen.job.status) else ", or suspend and resume the job to use it")
    message = f"attempt {seen.attempt} needs the spec that the job started with: {ways}"
    return conditions.not_running(Reason.SPEC_CHANGED, message)


def _group(seen: Observed) -> Create:
    if seen.pod_groups.native:
        return Create(Kind.NATIVE_POD_GROUP, partial(native_pod_group, seen.job, seen.attempt))
    return Create(Kind.POD_GROUP, partial(pod_group, seen.job))


def _groups_restored(seen: Observed) -> Iterator[Restore | Delete]:
    """Yields how a gang's group gets as many members as the gang has, which changes with a spec that has not run.

    Groups of earlier attempts, whose pods are gone, are deleted.
    """
    groups = seen.pod_groups
    kind = Kind.NATIVE_POD_GROUP if groups.native else Kind.POD_GROUP
    for group in groups.former:
        yield Delete(kind, group.name, group.version)
    if seen.job.gang and groups.current and groups.current.min_member != members(seen.job):
        fields = member_count(seen.job, native=groups.native)
        yield Restore(kind, groups.current.name, groups.current.version, fields)


def drifted(seen: Observed, _now: datetime) -> Act | None:
    """A Service that was edited is restored: peers rely on its ports and its selector.

    Once training has ended, no peer needs it, and repeated edits would delay inference.
    """
    if seen.job.edited:
        return None
    repairs: list[Action] = []
    alike = service_spec(seen.job, None)  # built once: there may be a thousand Services
    for name, replica in replicas_of_services(seen.job).items():
        live = seen.services.get(name)
        built = {**alike, "selector": service_selector(seen.job, replica)}
        if live is not None and not _is_as_built(built, live):
            fields = {"ports": merged(built["ports"], live.ports), **{field: built[field] for field in _RESTORED}}
            repairs.append(Restore(Kind.SERVICE, live.name, live.version, fields))
    if not repairs:
        return None
    names = ", ".join(repair.name for repair in repairs if isinstance(repair, Restore))
    event = Event("Warning", Reason.SERVICE_REPAIRED, f"restored edited Services: {names}")
    return Act(tuple(repairs), events=(event,))


def _is_as_built(built: Mapping[str, Any], live: Service) -> bool:
    current = (live.selector, live.publish_not_ready_addresses)
    return current == tuple(built[field] for field in _RESTORED) and are_present(built["ports"], live.ports)
