"""`runPolicy.failurePolicy`: what to do about a replica that failed."""

from qtj_operator.api.job import Job
from qtj_operator.api.run_policy import FailureAction, FailureRule
from qtj_operator.core.failures import described, reason_of
from qtj_operator.core.missing_program import missing_entry
from qtj_operator.core.pod import Pod

__all__ = ["counts_as_disruption", "failed_by_exit_code", "failed_by_rule", "matching_action"]


def matching_action(job: Job, pod: Pod) -> FailureAction | None:
    """Returns the action of the first rule that applies; if it is None, the exit code decides."""
    policy = job.policy.failure_policy
    return next((rule.action for rule in (policy.rules if policy else ()) if _applies(rule, pod)), None)


def failed_by_rule(job: Job, pod: Pod) -> str | None:
    """Returns why a rule fails the job with this pod, or None if no rule does."""
    fails = matching_action(job, pod) == FailureAction.FAIL
    return f"{described(pod)}; a rule of failurePolicy fails the job" if fails else None


def failed_by_exit_code(job: Job, pod: Pod) -> str | None:
    """Returns why the pod's exit code fails the job, which a rule may prevent, or None if it does not."""
    final = pod.failed and not pod.retryable and matching_action(job, pod) is None
    return f"{described(pod)}; {missing_entry(job, pod) or 'this exit code is final'}" if final else None


def counts_as_disruption(job: Job, pod: Pod) -> bool:
    """Whether the restart after the pod's end counts as a disruption: by a rule, or because the cluster ended it.

    A pod that has succeeded is lost only if somebody deletes it.
    """
    action = matching_action(job, pod)
    return pod.taken_away or pod.succeeded if action is None else action == FailureAction.RESTART_IGNORING_LIMIT


def _applies(rule: FailureRule, pod: Pod) -> bool:
    code = pod.ending.exit_code if pod.ending else None
    role = pod.replica.role if pod.replica else None
    return (
        (rule.exit_codes is None or code in rule.exit_codes)
        and (rule.reasons is None or reason_of(pod) in rule.reasons)
        and (rule.roles is None or role in rule.roles)
    )
