"""The status of a study: its trials with their results, from which everything else is computed again."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from qtj_operator.api.model import Model
from qtj_operator.api.study_parameters import Value

__all__ = ["StudyPhase", "StudyStatus", "TrialPhase", "TrialStatus"]


class StudyPhase(StrEnum):
    """Where a study is."""

    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"


class TrialPhase(StrEnum):
    """Where a trial is; a finished one is never run again by itself."""

    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"


class TrialStatus(Model):
    """One trial: a job with the values of one point and one seed."""

    number: int = Field(description="Its number: the job is called STUDY-NUMBER.")
    parameters: Mapping[str, Value] = Field(description="The values of its point.")
    seed: int | None = Field(None, description="Its seed; none where the program chooses it.")
    phase: TrialPhase = Field(description="Where it is. Running since before its job was created.")
    metrics: Mapping[str, float] | None = Field(None, description="What it has reported, by name.")
    message: str | None = Field(None, description="Why it has failed.")

    @property
    def is_over(self) -> bool:
        """Whether it has finished."""
        return self.phase != TrialPhase.RUNNING


class StudyStatus(Model):
    """What is known of a study."""

    phase: StudyPhase = Field(description="Where it is.")
    message: str | None = Field(None, description="Why it has failed.")
    trials: list[TrialStatus] = Field(default_factory=list, description="Its trials, in the order of their numbers.")
