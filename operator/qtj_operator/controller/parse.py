"""From a job's children as the API server returns them to what decisions are made of."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_INFERENCE, LABEL_PROBE, LABEL_ROLE, Role
from qtj_operator.api.template import main_name
from qtj_operator.controller.children import (
    ContainerStatus,
    JobObject,
    NodeObject,
    PodMetadata,
    PodObject,
    PodStatus,
    ServiceObject,
    Terminated,
)
from qtj_operator.core.inference_run import InferenceRun
from qtj_operator.core.pod import FINISHED, Ending, Pod, Waiting
from qtj_operator.core.pod_group import PodGroup
from qtj_operator.core.service import Service

__all__ = ["has_ended", "parse_inference", "parse_pod", "parse_pod_group", "parse_readiness", "parse_service"]

_DISRUPTIONS = {"DisruptionTarget", "TerminationTarget"}
"""Conditions by which Kubernetes and Kueue (0.14.8, pkg/controller/jobs/pod) say that they take a pod away."""

_GATE_CLOSED = "ReadinessGatesNotReady"
"""The kubelet's reason for a pod that is not ready although its containers are (pkg/kubelet/status/generate.go)."""

_SIDECAR = "Always"
"""The restartPolicy of an init container that makes it a sidecar; others only say when it starts again (KEP-5307)."""

_ROLES = {role.task_type: role for role in Role}


def parse_pod(raw: Mapping[str, Any], main: str | None = None) -> Pod:
    """Reads a pod.

    Args:
        raw: The pod as the API server returns it.
        main: The container that runs the program, as its template has it: others may have put theirs first.
    """
    found = PodObject.model_validate(raw)
    meta, spec, status = found.metadata, found.spec, found.status
    true = {condition.type for condition in status.conditions if condition.status == "True"}
    false = {condition.type: condition for condition in status.conditions if condition.status == "False"}
    names = [container.name for container in spec.containers]
    main = main if main in names else main_name(names)
    trainer = _container(status, main)
    stopped, ending = trainer is not None and trainer.state.terminated is not None, _ending(found, main)
    is_missed = "ContainersReady" in true and "Ready" in false and false["Ready"].reason != _GATE_CLOSED
    return Pod(
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        replica=_replica_id(meta.labels),
        attempt=_label_number(meta.labels, LABEL_ATTEMPT),
        phase=status.phase,
        running=ending is None and (stopped or _runs(trainer)),
        ends=ending is None and stopped,
        ready=_is_ready(trainer),
        missed=is_missed,
        masked="Ready" in false and not is_missed,
        deadline=meta.deletion_timestamp,
        asked=_asked(meta),
        node=spec.node_name,
        address=status.pod_ip,
        ending=ending,
        waiting=next(_waiting(status), None),
        gates=tuple(gate.name for gate in spec.scheduling_gates),
        unscheduled=false["PodScheduled"].message if "PodScheduled" in false else None,
        disrupted=not _DISRUPTIONS.isdisjoint(true),
        accompanied=any(each.name != main and each.state.running is not None for each in status.container_statuses),
        finalizers=meta.finalizers,
        since=_since(found),
        unseen_by=_unseen_by(found),
        probe=LABEL_PROBE in meta.labels,
    )


def parse_inference(raw: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> InferenceRun:
    """Reads the batch/v1 Job of inference, with its pods."""
    found = JobObject.model_validate(raw)
    meta, template = found.metadata, found.spec.template
    main = main_name([container.name for container in template.spec.containers]) if template else None
    true = {condition.type: condition.reason for condition in found.status.conditions if condition.status == "True"}
    return InferenceRun(
        name=meta.name,
        uid=meta.uid,
        version=meta.resource_version,
        run=meta.labels.get(LABEL_INFERENCE, ""),
        created=meta.creation_timestamp,
        suspended=bool(found.spec.suspend),
        complete="Complete" in true,
        failed="Failed" in true,
        deleting=meta.deletion_timestamp is not None,
        pods=tuple(parse_pod(pod, main) for pod in pods),
        overdue=true.get("Failed") == "DeadlineExceeded",
    )


def has_ended(raw: Mapping[str, Any]) -> bool:
    """Reads whether a batch/v1 Job has ended, well or not."""
    conditions = JobObject.model_validate(raw).status.conditions
    return any(condition.type in {"Complete", "Failed"} and condition.status == "True" for condition in conditions)


def parse_service(raw: Mapping[str, Any]) -> Service:
    """Reads a Service."""
    found = ServiceObject.model_validate(raw)
    return Service(
        name=found.metadata.name,
        version=found.metadata.resource_version,
        selector=found.spec.selector,
        publish_not_ready_addresses=found.spec.publish_not_ready_addresses,
        ports=found.spec.ports,
        type=found.spec.type,
    )


def parse_pod_group(raw: Mapping[str, Any]) -> PodGroup:
    """Reads a PodGroup of either API: each has the number of its members in a field of its own."""
    meta, spec = raw["metadata"], raw.get("spec") or {}
    gang = (spec.get("schedulingPolicy") or {}).get("gang") or {}
    members = spec.get("minMember", gang.get("minCount"))
    return PodGroup(meta["name"], meta["resourceVersion"], members, "deletionTimestamp" in meta)


def parse_readiness(raw: Mapping[str, Any]) -> bool:
    """Reads whether a Node answers."""
    conditions = NodeObject.model_validate(raw).status.conditions
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


def _since(pod: PodObject) -> datetime | None:
    """Returns when it got its node, or else when it was created: before, it may have waited in a queue."""
    placed = (each for each in pod.status.conditions if each.type == "PodScheduled" and each.status == "True")
    times = (pod.metadata.creation_timestamp, *(each.last_transition_time for each in placed))
    return max((time for time in times if time), default=None)


def _asked(meta: PodMetadata) -> datetime | None:
    """Returns when its deletion was asked for: its deadline is later, by the time that its program has to end."""
    grace = timedelta(seconds=meta.deletion_grace_period_seconds)
    return None if meta.deletion_timestamp is None else meta.deletion_timestamp - grace


def _unseen_by(pod: PodObject) -> str | None:
    """Returns the scheduler that ought to place the pod, and has said nothing about it."""
    is_seen = pod.spec.node_name or any(each.type == "PodScheduled" for each in pod.status.conditions)
    return None if is_seen else pod.spec.scheduler_name or "default-scheduler"


def _replica_id(labels: Mapping[str, str]) -> ReplicaId | None:
    role = _ROLES.get(labels.get(LABEL_ROLE, ""))
    return None if role is None else ReplicaId(role, _label_number(labels, LABEL_INDEX))


def _label_number(labels: Mapping[str, str], label: str) -> int:
    """Reads a number from a label; anybody may edit one, so that a pod with nonsense belongs to no attempt of ours."""
    text = labels.get(label, "")
    return int(text) if text.isdecimal() else 0


def _runs(container: ContainerStatus | None) -> bool:
    return container is not None and container.state.running is not None


def _is_ready(container: ContainerStatus | None) -> bool:
    """Whether the main container runs and its own probe agrees: the pod may wait for other containers and for gates."""
    return container is not None and _runs(container) and container.ready is not False


def _container(status: PodStatus, name: str) -> ContainerStatus | None:
    return next((each for each in status.container_statuses if each.name == name), None)


def _ending(pod: PodObject, main: str) -> Ending | None:
    """Returns how the main container ended; where the pod was stopped, or failed for another reason, that."""
    status, found = pod.status, _container(pod.status, main)
    terminated = found.state.terminated if found else None
    own = _ending_of(terminated) if terminated else None
    if own is not None and own.names_weights:
        return own
    if status.phase not in FINISHED:
        return own if _is_settled(pod, main) else None
    if status.phase == "Succeeded":
        return own or Ending(exit_code=0, reason="Completed", text="")
    if status.reason is not None:  # the kubelet gives a reason of its own when it was not the containers' doing
        unknown = Ending(exit_code=None, reason="", text="")
        return replace(own or unknown, reason=status.reason, text=status.message, by_kubelet=True)
    init = _failed_init(pod)
    failed = own or (_ending_of(init.state.terminated, init.name) if init and init.state.terminated else None)
    return failed or Ending(exit_code=None, reason="Failed", text=status.message)


def _is_settled(pod: PodObject, main: str) -> bool:
    """Whether it is known who ended the program of a pod that has not stopped: the program itself, if others go on.

    If all containers have stopped, the kubelet may have stopped them. It writes how they ended, and a moment later the
    phase with its reason and `DisruptionTarget` (Kubernetes 1.34, pkg/kubelet/status/status_manager.go,
    `mergePodStatus`).
    """
    status, sidecars = pod.status, _native_sidecars(pod)
    beside = (each for each in status.init_container_statuses if each.name in sidecars)
    others = (*(each for each in status.container_statuses if each.name != main), *beside)
    return any(each.state.terminated is None for each in others)


def _native_sidecars(pod: PodObject) -> set[str]:
    return {init.name for init in pod.spec.init_containers if init.restart_policy == _SIDECAR}


def _ending_of(terminated: Terminated, init: str | None = None) -> Ending:
    return Ending(
        exit_code=terminated.exit_code,
        reason=terminated.reason,
        text=terminated.message.strip(),
        time=terminated.finished_at,
        init=init,
    )


def _failed_init(pod: PodObject) -> ContainerStatus | None:
    """Returns the init container that failed; a native sidecar among them is none, for it may end as it likes."""
    sidecars = _native_sidecars(pod)
    ended = (each for each in pod.status.init_container_statuses if each.name not in sidecars and each.state.terminated)
    return next((each for each in ended if each.state.terminated and each.state.terminated.exit_code), None)


def _waiting(status: PodStatus) -> Iterator[Waiting]:
    """Yields why containers cannot start."""
    for container in (*status.init_container_statuses, *status.container_statuses):
        waiting = container.state.waiting
        if waiting is not None and waiting.reason is not None:
            yield Waiting(image=container.image, reason=waiting.reason, message=waiting.message)
