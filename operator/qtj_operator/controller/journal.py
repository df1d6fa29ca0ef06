"""The log lines about a job: one when it appears, vanishes, changes its phase or starts again, and none for numbers."""

import logging
from collections.abc import Iterator

from qtj_operator.api.conditions import Reason
from qtj_operator.api.status import Phase, Status
from qtj_operator.controller.client import Key
from qtj_operator.core.decision import Decision

__all__ = ["log_deleted", "log_fields", "log_transition"]

log = logging.getLogger(__name__)


def log_fields(key: Key, kind: str = "job") -> dict[str, str]:
    """Returns the fields by which a log collector finds the lines of one job or study; for `extra=`."""
    namespace, name = key
    return {"namespace": namespace, kind: name}


def log_transition(key: Key, before: Status, decision: Decision) -> None:
    """Logs what a written status changed."""
    after = decision.status
    fields = {**log_fields(key), "phase": after.phase, "reason": after.reason, "attempt": after.attempt}
    level = logging.WARNING if after.phase == Phase.FAILED else logging.INFO
    for line in _lines(before, decision):
        log.log(level, "%s/%s %s", *key, line, extra=fields)


def log_deleted(key: Key) -> None:
    """Logs that the job is deleted."""
    log.info("%s/%s is deleted", *key, extra=log_fields(key))


def _lines(before: Status, decision: Decision) -> Iterator[str]:
    after = decision.status
    if before.phase is None:
        yield "is created"
    if (before.phase, before.attempt) != (after.phase, after.attempt):
        why = next((each.message for each in after.conditions if each.reason == after.reason), "")
        yield f"is {after.phase}, attempt {after.attempt or 0}" + (f": {why}" if why else "")
    # A lone replica starts again without a new phase or attempt of its job.
    yield from (event.message for event in decision.events if event.reason == Reason.REPLICA_REPLACED)
