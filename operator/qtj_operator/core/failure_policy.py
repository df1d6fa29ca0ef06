"""`runPolicy.failurePolicy`: what its author wants done about a replica that ended badly."""

from qtj_operator.api.job import Job
from qtj_operator.api.run_policy import FailureAction, FailureRule
from qtj_operator.core.failures import reason_of
from qtj_operator.core.pod import Pod

__all__ = ["ruled"]


def ruled(job: Job, pod: Pod) -> FailureAction | None:
    """Returns the action of the first rule that applies; None leaves it to the contract of exit codes."""
    policy = job.policy.failure_policy
    return next((rule.action for rule in (policy.rules if policy else ()) if _applies(rule, pod)), None)


def _applies(rule: FailureRule, pod: Pod) -> bool:
    code = pod.ending.exit_code if pod.ending else None
    role = pod.replica.role if pod.replica else None
    return (
        (rule.exit_codes is None or code in rule.exit_codes)
        and (rule.reasons is None or reason_of(pod) in rule.reasons)
        and (rule.roles is None or role in rule.roles)
    )
