"""What the operator remembers of each study, for its metrics."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from qtj_operator.api.conditions import ConditionType
from qtj_operator.api.study_status import StudyPhase
from qtj_operator.controller.client import Key, Object

__all__ = ["Studies", "StudyMemory"]

_FIRST = (ConditionType.FAILED, ConditionType.COMPLETE, ConditionType.SPEC_IGNORED)
"""Conditions that explain more than Running, if they are true."""


@dataclass(frozen=True, slots=True)
class StudyMemory:
    """What the status of a study says.

    Attributes:
        phase: Its phase.
        reason: That of the condition which explains most.
        since: Since when this condition is as it is.
    """

    phase: str
    reason: str
    since: datetime

    @classmethod
    def of(cls, study: Object) -> Self:
        """Reads it from the object."""
        status = study.get("status") or {}
        phase = status.get("phase") or StudyPhase.RUNNING
        present = {each["type"]: each for each in status.get("conditions") or ()}
        true = (present[kind] for kind in _FIRST if kind in present and present[kind]["status"] == "True")
        condition = next(true, present.get(ConditionType.RUNNING))
        if condition is None:
            return cls(phase, "", datetime.fromisoformat(study["metadata"]["creationTimestamp"]))
        return cls(phase, condition["reason"], datetime.fromisoformat(condition["lastTransitionTime"]))


Studies = dict[Key, StudyMemory]
"""Every study that a pass has found."""
