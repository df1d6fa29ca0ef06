"""The status of a study: its trials with their results, from which everything else is computed again."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from qtj_operator.api.model import Model, Timestamp, WrittenStatus
from qtj_operator.api.status import Condition
from qtj_operator.api.study_parameters import Value

__all__ = [
    "ENDED",
    "BestPoint",
    "FinalPoint",
    "StudyPhase",
    "StudyReason",
    "StudyStatus",
    "TrialPhase",
    "TrialStatus",
]


class StudyPhase(StrEnum):
    """Where a study is."""

    RUNNING = "Running"
    SUSPENDED = "Suspended"
    COMPLETE = "Complete"
    FAILED = "Failed"


ENDED = frozenset({StudyPhase.COMPLETE, StudyPhase.FAILED})
"""Phases of a study that has ended."""


class StudyReason(StrEnum):
    """All reasons of the conditions of a study, and of its events."""

    # Running
    TRIALS_RUNNING = "TrialsRunning"
    TRIAL_REJECTED = "TrialRejected"
    SEARCH_REFUSED = "SearchRefused"
    # Suspended
    SUSPENDED = "Suspended"
    # Complete
    TRIALS_DONE = "TrialsDone"
    # Failed
    INVALID_SPEC = "InvalidSpec"
    TOO_MANY_FAILED = "TooManyFailed"
    METRIC_MISSING = "MetricMissing"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    # Events
    TRIAL_FAILED = "TrialFailed"


class TrialPhase(StrEnum):
    """Where a trial is; a finished one is never run again by itself."""

    RUNNING = "Running"
    COMPLETE = "Complete"
    STOPPED = "Stopped"
    FAILED = "Failed"


class TrialStatus(Model):
    """One trial: a job with the values of one point and one seed."""

    number: int = Field(description="Its number: the job is called STUDY-NUMBER.")
    parameters: Mapping[str, Value] = Field(description="The values of its point.")
    seed: int | None = Field(None, description="Its seed; none where the program chooses it.")
    final: bool | None = Field(None, description="Whether it trains the best point again, as spec.final says.")
    phase: TrialPhase = Field(description="Where it is. Running since before its job was created.")
    metrics: Mapping[str, float] | None = Field(None, description="What it has reported, by name.")
    compared: Mapping[str, float] | None = Field(
        None, description="What spec.stopping has compared, by the number of epochs."
    )
    message: str | None = Field(None, description="Why it has failed, or was stopped.")

    @property
    def is_over(self) -> bool:
        """Whether it has finished."""
        return self.phase != TrialPhase.RUNNING


class BestPoint(Model):
    """The best point whose trials have all finished."""

    parameters: Mapping[str, Value] = Field(description="Its values.")
    objective: float = Field(description="What is compared, over its seeds.")
    margin: float | None = Field(
        None, description="Half the interval around the mean that has the true mean with 95%; none for one seed."
    )
    reported: int = Field(description="How many of its trials have reported the metric.")


class FinalPoint(Model):
    """The best point, as it is trained again."""

    parameters: Mapping[str, Value] = Field(description="Its values, with those of spec.final.")
    mean: float | None = Field(None, description="The mean of the metric over its seeds; none before the first.")
    margin: float | None = Field(
        None, description="Half the interval around the mean that has the true mean with 95%; none for one seed."
    )
    reported: int = Field(description="How many of its trials have reported the metric.")


class StudyStatus(WrittenStatus):
    """What is known of a study."""

    observed_generation: int | None = Field(None, description="The spec's generation that this status describes.")
    phase: StudyPhase = Field(StudyPhase.RUNNING, description="Where it is.")
    message: str | None = Field(None, description="Why it has failed.")
    finished: str | None = Field(
        None, description="Finished trials of all, for example 3/15; 15/15+2/10 with those of the final training."
    )
    best: BestPoint | None = Field(None, description="The best point so far.")
    final: FinalPoint | None = Field(None, description="The final training, once all other trials have finished.")
    conditions: tuple[Condition, ...] | None = Field(
        None,
        description="Running, Suspended, Complete and Failed, as kubectl wait reads them; Reconciling and Stalled, as "
        "kstatus reads them.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    active_since: Timestamp | None = Field(
        None, description="From when activeDeadlineSeconds counts: the start, or the last resumption."
    )
    completion_time: Timestamp | None = Field(None, description="When it has ended.")
    template_digest: str | None = Field(None, description="Digest of jobTemplate, as it was for the first trial.")
    trials: list[TrialStatus] = Field(default_factory=list, description="Its trials, in the order of their numbers.")
