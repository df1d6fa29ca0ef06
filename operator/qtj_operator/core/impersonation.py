"""Pods that would pass for something else: for the operator, by its service account, or for its objects, by labels."""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj_operator.api.job import Job
from qtj_operator.api.names import is_reserved
from qtj_operator.core.platform import Platform

__all__ = ["account_of_board", "impersonation", "operators_account"]

_ACCOUNTS = ("serviceAccountName", "serviceAccount")
_OWN_ACCOUNT = "{} names the operator's own service account: name one of your own"


def impersonation(job: Job, platform: Platform) -> str | None:
    """Returns what the pods of a job would pretend, in one sentence; None if they pretend nothing.

    Whoever may only create jobs would get the operator's token, and with it its rights. Services, network policies and
    disruption budgets select pods by labels. It is checked before anything runs, so that no running job is stranded
    by a rule that is newer than it; of later pods the builders leave such labels out.
    """
    found = (_pretends(where, template, job, platform) for where, template in _templates(job))
    return next((sentence for sentence in found if sentence), None) or account_of_board(job, platform)


def account_of_board(job: Job, platform: Platform) -> str | None:
    """Returns one sentence if TensorBoard is to have the operator's service account; None if it is not.

    Args:
        job: The job, of which TensorBoard may be edited at any time.
        platform: Where the operator runs.
    """
    board = job.spec.tensorboard
    if board is None or platform.account != (job.namespace, board.service_account_name):
        return None
    return _OWN_ACCOUNT.format("spec.tensorboard")


def _pretends(where: str, template: Mapping[str, Any], job: Job, platform: Platform) -> str | None:
    labels = _mapping(_mapping(template.get("metadata")).get("labels"))
    if reserved := next((label for label, value in labels.items() if is_reserved(label, value)), None):
        return (
            f"{where}.metadata.labels sets {reserved}, by which the operator's own objects are found: remove it from "
            "the template"
        )
    return operators_account(where, template, job, platform)


def operators_account(where: str, template: Mapping[str, Any], job: Job, platform: Platform) -> str | None:
    """Returns one sentence if a template asks for the operator's service account; None if it does not.

    Args:
        where: The path of the template.
        template: The template as its author wrote it. That of inference may be edited until it is used.
        job: The job.
        platform: Where the operator runs.
    """
    accounts = [(job.namespace, _mapping(template.get("spec")).get(field)) for field in _ACCOUNTS]
    if platform.account in accounts:
        return _OWN_ACCOUNT.format(f"{where}.spec")
    return None


def _mapping(written: object) -> Mapping[str, Any]:
    """Returns what was written, or nothing: a template that may be edited later is not read before it is used."""
    return written if isinstance(written, Mapping) else {}


def _templates(job: Job) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields every template with its path, as its author wrote it."""
    if job.spec.template is not None:
        yield "spec.template", job.spec.template.written
    for role, spec in job.spec.replica_specs:
        if spec.template is not None:
            yield f"spec.replicaSpecs.{role}.template", spec.template.written
    if job.inference is not None and job.inference.template is not None:
        yield "spec.inference.template", job.inference.template
