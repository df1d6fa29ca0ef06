"""`runPolicy.failurePolicy`: what its author wants done about a replica that ended badly."""

from qtj_operator.api.job import Job
from qtj_operator.api.run_policy import FailureAction, FailureRule
from qtj_operator.core.failures import reason_of
from qtj_operator.core.pod import Pod

__all__ = ["costs_nothing", "is_final", "ruled"]


def ruled(job: Job, pod: Pod) -> FailureAction | None:
    """Returns the action of the first rule that applies; None leaves it to the contract of exit codes."""
    policy = job.policy.failure_policy
    return next((rule.action for rule in (policy.rules if policy else ()) if _applies(rule, pod)), None)


def is_final(job: Job, pod: Pod) -> bool:
    """Whether the pod's end is the end of the job: by its exit code, unless a rule says otherwise."""
    return not pod.retryable and ruled(job, pod) is None


def costs_nothing(job: Job, pod: Pod) -> bool:
    """Whether the restart after the pod's end counts as a disruption: the cluster ended it, unless a rule says else."""
    rule = ruled(job, pod)
    return pod.taken_away if rule is None else rule == FailureAction.RESTART_IGNORING_LIMIT


def _applies(rule: FailureRule, pod: Pod) -> bool:
    code = pod.ending.exit_code if pod.ending else None
    role = pod.replica.role if pod.replica else None
    return (
        (rule.exit_codes is None or code in rule.exit_codes)
        and (rule.reasons is None or reason_of(pod) in rule.reasons)
        and (rule.roles is None or role in rule.roles)
    )
