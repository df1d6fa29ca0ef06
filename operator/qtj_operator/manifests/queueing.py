"""Labels and annotations that group the pods of a job for Kueue and for the coscheduling plugin.

Sources: Kueue's documentation, "Run a group of pods": a group is admitted when all its pods exist and fit the quota.
KEP 42-podgroup-coscheduling of scheduler-plugins: a pod waits until `minMember` pods of its group can be placed.

Kueue keeps each pod of a group with a finalizer until the group is finished, because a failed pod might be replaced
within its group. Here it never is: a restart is a new attempt, and so a new group. With the annotation
`retriable-in-group: "false"`, Kueue (0.14.8, pkg/controller/jobs/pod) removes the finalizer as soon as no pod of the
group is active.
"""

from collections.abc import Mapping

from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import LABEL_QUEUE, Role
from qtj_operator.manifests.manifest import Manifest, metadata

__all__ = ["members", "pod_group", "queue", "queueing"]

_KUEUE = "kueue.x-k8s.io"
_COSCHEDULING = "scheduling.x-k8s.io"


def queue(job: Job) -> Mapping[str, str]:
    """Returns the label with the name of the Kueue queue; none without a queue."""
    policy = job.policy.scheduling_policy
    return {LABEL_QUEUE: policy.queue_name} if policy and policy.queue_name else {}


def queueing(job: Job, replica: ReplicaId, attempt: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Returns the labels and annotations of the pod of a replica in one attempt; none without a scheduling policy.

    Each attempt is another group, because for Kueue a workload ends with the pods of its group. The name contains the
    job's uid, so that nobody can join the group of a job by guessing its name. The evaluator is in no group: training
    does not wait for it, and it is replaced alone. Once the leader has finished, the others do not run together any
    more: each is a group of its own.
    """
    labels = dict(queue(job))
    annotations: dict[str, str] = {}
    if replica.role == Role.EVALUATOR:
        return labels, annotations
    if labels:
        group = f"{job.name[:40]}-{job.uid[:8]}-{attempt}"
        alone = f"-{replica.role.task_type[0]}{replica.index}" if job.leader_finished else ""
        labels[f"{_KUEUE}/pod-group-name"] = f"{group}{alone}"
        annotations[f"{_KUEUE}/pod-group-total-count"] = str(members(job))
        annotations[f"{_KUEUE}/retriable-in-group"] = "false"
    if job.gang:
        labels[f"{_COSCHEDULING}/pod-group"] = job.name
    return labels, annotations


def pod_group(job: Job) -> Manifest:
    """Returns the group of all replicas that training waits for: all but the evaluator."""
    return {
        "apiVersion": f"{_COSCHEDULING}/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata(job, job.name, {}),
        "spec": {"minMember": members(job)},
    }


def members(job: Job) -> int:
    """Returns how many replicas have to run together."""
    if job.leader_finished:
        return 1
    return sum(replica.role != Role.EVALUATOR for replica in job.replicas())
