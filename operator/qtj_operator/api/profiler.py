"""`spec.profiler`: the profiler server of each replica, and profiles that the job takes of itself."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, StrictInt, WithJsonSchema, model_validator

from qtj_contract.captures import MOST_CAPTURES, STEPS
from qtj_operator.api.defaults import GRPC_PORT, METRICS_PORT, PROFILER_PORT
from qtj_operator.api.model import Model
from qtj_operator.api.rules import Rule, checked, enforce, matching, validations

__all__ = ["Profiler", "ProfilerCapture"]

_FREE_PORT = Rule(
    f"self != {GRPC_PORT} && self != {METRICS_PORT}",
    lambda port: port not in {GRPC_PORT, METRICS_PORT},
    f"port {GRPC_PORT} is taken by gRPC and {METRICS_PORT} by metrics: choose another",
)
_ELAPSED, _DURATION = "^[1-9][0-9]{0,5}(s|m|h)$", "^([1-9][0-9]{0,3}ms|[1-9]s|[1-5][0-9]s|60s)$"
_IS_ELAPSED = matching(
    _ELAPSED,
    "must be a whole number with the unit s, m or h: write for example 10m",
)
_IS_DURATION = matching(
    _DURATION,
    "must be from 1ms to 60s, a whole number with the unit ms or s: write for example 2s",
)
_ONE_START = Rule(
    "(has(self.epoch) ? 1 : 0) + (has(self.step) ? 1 : 0) + (has(self.elapsed) ? 1 : 0) == 1",
    lambda each: sum(start is not None for start in (each.epoch, each.step, each.elapsed)) == 1,
    "a capture starts by exactly one of epoch, step and elapsed",
)
_ONE_LENGTH = Rule(
    "!(has(self.steps) && has(self.duration))",
    lambda each: each.steps is None or each.duration is None,
    "a capture takes steps or a duration: leave one of them out",
)
_STARTS = ("epoch", "step", "elapsed")
_SAME = " && ".join(f"has(a.{each}) == has(b.{each}) && (!has(a.{each}) || a.{each} == b.{each})" for each in _STARTS)
_DISTINCT = Rule(
    f"self.all(a, self.exists_one(b, {_SAME}))",
    lambda captures: len({(each.epoch, each.step, each.elapsed) for each in captures}) == len(captures),
    "two captures have the same start, which names the folder of a profile: change one of them",
)
_LARGEST = 2**31 - 1
_SHORT = WithJsonSchema({"type": "string", "maxLength": 8})
"""The API server computes the cost of a rule from this length. In Python the rule checks it, and says what to write."""


class ProfilerCapture(Model):
    """A profile of each replica that takes the steps, from the same step on."""

    model_config = ConfigDict(json_schema_extra=validations(_ONE_START, _ONE_LENGTH))

    epoch: StrictInt | None = Field(None, description="Starts with this epoch, from 1.", ge=1, le=_LARGEST)
    step: StrictInt | None = Field(None, description="Starts with this optimizer step, from 1.", ge=1, le=_LARGEST)
    elapsed: Annotated[str, _SHORT, checked(_IS_ELAPSED)] | None = Field(
        None,
        description="Starts this long after the start of the training in each attempt, for example 10m. Replicas may "
        "start one step apart.",
        json_schema_extra=validations(_IS_ELAPSED),
    )
    steps: StrictInt | None = Field(
        None,
        description=f"Takes so many steps, but at most 60 s. {STEPS} when there is no `duration`.",
        ge=1,
        le=1000,
    )
    duration: Annotated[str, _SHORT, checked(_IS_DURATION)] | None = Field(
        None,
        description="Takes so long, up to 60s, and ends with a step.",
        json_schema_extra=validations(_IS_DURATION),
    )

    @model_validator(mode="after")
    def _one_start_and_one_length(self) -> Self:
        enforce(self, _ONE_START, _ONE_LENGTH)
        return self


class Profiler(Model):
    """TensorFlow's profiler server in every replica, and profiles that the job takes of itself."""

    port: Annotated[StrictInt, Field(ge=1024, le=65535), checked(_FREE_PORT)] | None = Field(
        None,
        description=f"Port of the profiler server, on the pod and on its Service. {PROFILER_PORT} when left out.",
        json_schema_extra=validations(_FREE_PORT),
    )
    captures: Annotated[list[ProfilerCapture], Field(max_length=MOST_CAPTURES), checked(_DISTINCT)] | None = Field(
        None,
        description="Profiles that the trainer takes of its replicas, one at a time. They are stored below "
        "`logs/` of the artifacts, where TensorBoard finds them, and listed in status.profiles. One that fails does "
        "not end the training.",
        json_schema_extra=validations(_DISTINCT),
    )
