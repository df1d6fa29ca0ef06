"""What groups the pods of a job for Kueue, for Kubernetes' own scheduler and for the coscheduling plugin.

Sources: Kueue's documentation, "Run a group of pods": a group is admitted when all its pods exist and fit the quota.
KEP 42-podgroup-coscheduling of scheduler-plugins: a pod waits until `minMember` pods of its group can be placed.
Kubernetes 1.37, api/scheduling/v1beta1 and pkg/scheduler/schedule_one_podgroup.go: the same for `minCount` pods, all of
which need the priority of their group, which cannot be changed.

Kueue keeps each pod of a group with a finalizer until the group is finished, because a failed pod might be replaced
within its group. Here it never is: a restart is a new attempt, and so a new group. With the annotation
`retriable-in-group: "false"`, Kueue (0.14.8, pkg/controller/jobs/pod) removes the finalizer as soon as no pod of the
group is active.
"""

from collections.abc import Mapping

from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import LABEL_QUEUE, Role
from qtj_operator.manifests.manifest import Manifest, metadata

__all__ = ["group_name", "member_count", "members", "native_pod_group", "pod_group", "queue", "queueing"]

_KUEUE = "kueue.x-k8s.io"
_COSCHEDULING = "scheduling.x-k8s.io"
_NATIVE = "scheduling.k8s.io"


def queue(job: Job) -> Mapping[str, str]:
    """Returns the label with the name of the Kueue queue; none without a queue."""
    policy = job.policy.scheduling_policy
    return {LABEL_QUEUE: policy.queue_name} if policy and policy.queue_name else {}


def queueing(job: Job, replica: ReplicaId, attempt: int, *, native: bool) -> tuple[Manifest, Manifest]:
    """Returns what the metadata and the spec of the pod of a replica have in addition, with a scheduling policy.

    Each attempt is another group, because for Kueue a workload ends with the pods of its group. The name contains the
    job's uid, so that nobody can join the group of a job by guessing its name. The evaluator is in no group: training
    does not wait for it, and it is replaced alone. Once the leader has finished, the others do not run together any
    more: each is a group of its own.
    """
    labels = dict(queue(job))
    annotations: dict[str, str] = {}
    spec: Manifest = {}
    added: Manifest = {"labels": labels, "annotations": annotations}
    if replica.role == Role.EVALUATOR:
        return added, spec
    if labels:
        group = f"{job.name[:40]}-{job.uid[:8]}-{attempt}"
        alone = f"-{replica.role.task_type[0]}{replica.index}" if job.leader_finished else ""
        labels[f"{_KUEUE}/pod-group-name"] = f"{group}{alone}"
        annotations[f"{_KUEUE}/pod-group-total-count"] = str(members(job))
        annotations[f"{_KUEUE}/retriable-in-group"] = "false"
    if job.gang and native:
        spec["schedulingGroup"] = {"podGroupName": group_name(job, attempt)}
    elif job.gang:
        labels[f"{_COSCHEDULING}/pod-group"] = group_name(job, None)
    return added, spec


def group_name(job: Job, attempt: int | None) -> str:
    """Returns the name of a job's group: of Kubernetes' own for one attempt, or else of that of the plugin.

    Each attempt has another group of Kubernetes' own: an edit between two attempts may change the priority.
    """
    return job.name if attempt is None else f"{job.name}-{attempt}"


def pod_group(job: Job) -> Manifest:
    """Returns the plugin's group of all replicas that training waits for: all but the evaluator."""
    return {
        "apiVersion": f"{_COSCHEDULING}/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata(job, group_name(job, None), {}),
        "spec": member_count(job, native=False),
    }


def native_pod_group(job: Job, attempt: int) -> Manifest:
    """Returns Kubernetes' own group of the same replicas in one attempt, with the priority of the leader's pod.

    Where replicas train in step, one that is preempted stops all: so whoever preempts one has to count all of them.
    """
    priority = job.template(job.leader.role).spec.priority_class_name
    return {
        "apiVersion": f"{_NATIVE}/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata(job, group_name(job, attempt), {}),
        "spec": {
            **member_count(job, native=True),
            **({"priorityClassName": priority} if priority else {}),
            **({"disruptionMode": {"all": {}}} if job.trains_together else {}),
        },
    }


def member_count(job: Job, *, native: bool) -> Manifest:
    """Returns the field of a group's spec that says how many pods there are."""
    count = members(job)
    return {"schedulingPolicy": {"gang": {"minCount": count}}} if native else {"minMember": count}


def members(job: Job) -> int:
    """Returns how many replicas have to run together."""
    if job.leader_finished:
        return 1
    return sum(replica.role != Role.EVALUATOR for replica in job.replicas())
