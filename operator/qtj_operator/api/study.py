"""The spec of a QuantumTrainingStudy: one job, run with several settings and seeds, and the metric that compares them.

As in a job, the schema has no defaults.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StrictBool, StrictInt, WithJsonSchema, model_validator

from qtj_operator.api.model import Model
from qtj_operator.api.names import MAX_NAME_LENGTH
from qtj_operator.api.rules import broken, cel
from qtj_operator.api.run_policy import Seconds, TimeToLive
from qtj_operator.api.study_parameters import NAME_PATTERN, SEED, Parameter, Value, option_of
from qtj_operator.api.study_stopping import EPOCH_METRICS, EpochMetric, Stopping

__all__ = [
    "MAX_STUDY_NAME_LENGTH",
    "MAX_TRIALS",
    "PARALLEL_TRIALS",
    "STUDY_KIND",
    "STUDY_PLURAL",
    "Algorithm",
    "FinalTraining",
    "Goal",
    "Objective",
    "Search",
    "Seeds",
    "Statistic",
    "StudyFailurePolicy",
    "StudySpec",
]

STUDY_KIND = "QuantumTrainingStudy"
STUDY_PLURAL = "quantumtrainingstudies"

MAX_TRIALS = 1000
"""All of them have to fit into the status of one object."""

MAX_STUDY_NAME_LENGTH = MAX_NAME_LENGTH - len(f"-{MAX_TRIALS}")
"""A trial is a job whose name is that of the study and a number."""

PARALLEL_TRIALS = 4
"""How many trials run at the same time on a cluster whose study does not say: more might wait for one another."""

_FAILED_TRIALS = 3
_LARGEST_SEED = 2**31 - 1


class Algorithm(StrEnum):
    """How the points of a study are chosen."""

    GRID = "Grid"
    RANDOM = "Random"
    TPE = "TPE"
    GP = "GP"
    CMA_ES = "CMA-ES"

    @property
    def learns(self) -> bool:
        """Whether a point depends on the results of others."""
        return self not in {Algorithm.GRID, Algorithm.RANDOM}


class Goal(StrEnum):
    """Which values of a metric are better."""

    MINIMIZE = "Minimize"
    MAXIMIZE = "Maximize"


class Statistic(StrEnum):
    """Which number stands for all seeds of a point."""

    MEAN = "Mean"
    MEDIAN = "Median"
    WORST = "Worst"


class Seeds(Model):
    """With how many seeds a point is run."""

    count: StrictInt = Field(description="How many seeds. A program gets its seed as `--seed`.", ge=1, le=MAX_TRIALS)


class FinalTraining(Model):
    """Trains the best point again, when all other trials have finished."""

    seeds: Seeds = Field(
        description="With how many seeds: those after the seeds of the study, which have chosen the point."
    )
    parameters: Mapping[str, Value] | None = Field(
        None,
        description="Values that replace those of the point or are added, such as `epochs: 100`.",
        max_length=32,
    )


class Search(Model):
    """How points are chosen."""

    algorithm: Algorithm | None = Field(
        None,
        description="Grid, also when left out: every combination of values. Random: combinations that are drawn, as "
        "many as maxTrials allows. TPE, GP and CMA-ES: samplers of Optuna, which learn from the trials before.",
    )
    seed: StrictInt | None = Field(
        None,
        description="Of all but Grid: the same seed leads to the same points, as long as trials end alike. 0 when left "
        "out.",
        ge=0,
        le=_LARGEST_SEED,
    )


class Objective(Model):
    """What is compared."""

    metric: str = Field(
        description="A metric of inference or of the finished training, or the loss of the last epoch.",
        min_length=1,
        max_length=63,
    )
    goal: Goal | None = Field(None, description="Minimize, also when left out, or Maximize.")
    statistic: Statistic | None = Field(
        None, description="Which number stands for all seeds of a point: Mean, also when left out, Median or Worst."
    )

    @property
    def is_better_when_small(self) -> bool:
        """Whether a smaller value is better."""
        return self.goal != Goal.MAXIMIZE


class StudyFailurePolicy(Model):
    """What failed trials mean."""

    max_failed_trials: StrictInt | None = Field(
        None,
        description=f"How many trials may fail; one more ends the study. {_FAILED_TRIALS} when left out.",
        ge=0,
        le=MAX_TRIALS,
    )


_SAME_OPTION = "a.name.replace('_', '-') == b.name.replace('_', '-')"
_IS_DRAWN = "has(self.search) && has(self.search.algorithm) && self.search.algorithm != 'Grid'"
_RULES = (
    (
        f"self.parameters.all(a, self.parameters.exists_one(b, {_SAME_OPTION}))",
        "two parameters are the same option of the program: remove one",
    ),
    (
        f"!has(self.seeds) || self.parameters.all(each, each.name != '{SEED}')",
        "seeds sets the seed of each trial: remove seeds, or the parameter seed",
    ),
    (
        f"!has(self.final) || self.parameters.all(each, each.name != '{SEED}')",
        "final sets the seed of each trial: remove final, or the parameter seed",
    ),
    (
        f"!({_IS_DRAWN}) || has(self.maxTrials)",
        "Random, TPE, GP and CMA-ES choose points until there are maxTrials trials: write spec.maxTrials",
    ),
)


_NUMBER_OF_EPOCHS = " || ".join(f"self.objective.metric == '{each}'" for each in EpochMetric)
_STOPPING_RULE = (
    f"!has(self.stopping) || has(self.stopping.metric) || {_NUMBER_OF_EPOCHS}",
    f"stopping compares numbers of epochs, and objective.metric is none: write stopping.metric, one of {EPOCH_METRICS}",
)


class StudySpec(Model):
    """Which settings to try, with how many seeds, and what to compare."""

    model_config = ConfigDict(json_schema_extra=cel(*_RULES, _STOPPING_RULE))

    job_template: Annotated[
        Mapping[str, Any], WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    ] = Field(description="The spec of a QuantumTrainingJob, which each trial gets.")
    parameters: list[Parameter] = Field(description="What differs between the points.", min_length=1, max_length=32)
    seeds: Seeds | None = Field(
        None,
        description="With how many seeds each point is run: 0, 1, 2 and so on. Once, with the program's own seed, when "
        "left out.",
    )
    search: Search | None = Field(None, description="How points are chosen.")
    objective: Objective = Field(description="What is compared.")
    max_trials: StrictInt | None = Field(
        None,
        description=f"The most trials: points times seeds. {MAX_TRIALS} when left out; all but Grid need it.",
        ge=1,
        le=MAX_TRIALS,
    )
    parallelism: StrictInt | None = Field(
        None,
        description="How many trials run at the same time, at most. When left out: as many as this machine has room "
        f"for, and {PARALLEL_TRIALS} on a cluster.",
        ge=1,
        le=MAX_TRIALS,
    )
    failure_policy: StudyFailurePolicy | None = Field(None, description="What failed trials mean.")
    stopping: Stopping | None = Field(
        None, description="Which trials are stopped before their end. None when left out."
    )
    final: FinalTraining | None = Field(
        None, description="Trains the best point again, when all other trials have finished. Not when left out."
    )
    suspend: StrictBool | None = Field(
        None,
        description="Suspends the jobs of running trials, and starts no others, until this is false. They continue "
        "from their last checkpoints then. False when left out.",
    )
    active_deadline_seconds: Seconds | None = Field(
        None,
        description="The study fails when it is not complete this long after its start, and trials that run are "
        "stopped. It counts anew when the study is resumed.",
    )
    ttl_seconds_after_finished: TimeToLive | None = Field(
        None,
        description="The study is deleted, with the results in its status and with its jobs, this long after its end.",
    )

    @property
    def is_drawn(self) -> bool:
        """Whether points are chosen one after the other, and not all of a grid."""
        return self.search is not None and self.search.algorithm not in {None, Algorithm.GRID}

    @property
    def learns(self) -> bool:
        """Whether a point depends on the results of others."""
        return self.search is not None and self.search.algorithm is not None and self.search.algorithm.learns

    @property
    def seed_numbers(self) -> tuple[int | None, ...]:
        """The seeds of each point; None stands for the program's own."""
        return tuple(range(self.seeds.count)) if self.seeds else (None,)

    @property
    def final_seeds(self) -> range:
        """The seeds of the final training; none without one."""
        first = self.seeds.count if self.seeds else 0
        return range(first, first + (self.final.seeds.count if self.final else 0))

    @property
    def limit(self) -> int:
        """The most trials."""
        return self.max_trials or MAX_TRIALS

    @property
    def failures_allowed(self) -> int:
        """How many trials may fail."""
        allowed = self.failure_policy.max_failed_trials if self.failure_policy else None
        return _FAILED_TRIALS if allowed is None else allowed

    @property
    def stopping_metric(self) -> EpochMetric | None:
        """What trials are compared by while they run."""
        if self.stopping and self.stopping.metric:
            return self.stopping.metric
        return next((each for each in EpochMetric if each == self.objective.metric), None)

    @model_validator(mode="after")
    def _compares_epochs(self) -> Self:
        if self.stopping and self.stopping_metric is None:
            raise broken(
                f"stopping compares numbers of epochs, and {self.objective.metric} is none: write stopping.metric, one "
                f"of {EPOCH_METRICS}"
            )
        return self

    @model_validator(mode="after")
    def _parameters_differ(self) -> Self:
        options = [each.option for each in self.parameters]
        if twice := next((option for option in options if options.count(option) > 1), None):
            raise broken(f"two parameters are the option {twice} of the program: remove one")
        if self.seeds and any(each.name == SEED for each in self.parameters):
            raise broken("seeds sets the seed of each trial: remove seeds, or the parameter seed")
        return self

    @model_validator(mode="after")
    def _final_fits(self) -> Self:
        if self.final is None:
            return self
        if any(each.name == SEED for each in self.parameters):
            raise broken("final sets the seed of each trial: remove final, or the parameter seed")
        names = {each.option: each.name for each in self.parameters}
        for name in self.final.parameters or ():
            _check_final(name, names)
            names[option_of(name)] = name
        return self


def _check_final(name: str, names: Mapping[str, str]) -> None:
    """Refuses the name of a parameter of the final training that is wrong, by the names of all others."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise broken(f"final.parameters has {name!r}, which is no name: write letters, digits, - and _")
    known = names.get(option_of(name), name)
    if name == SEED:
        raise broken("final.parameters has seed, and final.seeds sets it: remove one")
    if known != name:
        raise broken(f"final.parameters has {name}, which is the same option as {known}: write {known} alone")
