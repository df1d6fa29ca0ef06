"""What tells Kueue that the pods of an attempt belong together.

Source: Kueue's documentation, "Run a group of pods": a group is admitted when all its pods exist and fit the quota.
"""

from collections.abc import Mapping

from qtj_operator.api.job import Job

__all__ = ["queueing"]

_PREFIX = "kueue.x-k8s.io"


def queueing(job: Job, attempt: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Returns the labels and annotations of a pod in one attempt; none without a queue.

    Each attempt is a group of its own, for Kueue takes the end of a group's pods as the end of its workload. The name
    holds the job's uid, so that nobody gets into the group of a job by guessing its name.
    """
    policy = job.policy.scheduling_policy
    if policy is None or policy.queue_name is None:
        return {}, {}
    labels = {
        f"{_PREFIX}/queue-name": policy.queue_name,
        f"{_PREFIX}/pod-group-name": f"{job.name[:40]}-{job.uid[:8]}-{attempt}",
    }
    return labels, {f"{_PREFIX}/pod-group-total-count": str(job.size)}
