"""What a platform gives to its jobs: defaults for fields that a job leaves out, and ceilings for all.

::

    a field of the job    if it is left out, the default of the platform, or else of this project
    and then              at most the ceiling of the platform

The object of the user stays as it is: decisions read what follows from both. A job that has started keeps, in its
status, what was given to it then. So a change of the configuration neither ends nor restarts what runs, and deletes
nothing that has ended.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Self

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from qtj_contract.quantities import amount_of
from qtj_operator.api.defaults import BACKOFF_LIMIT, TENSORBOARD_RESOURCES
from qtj_operator.api.model import Model
from qtj_operator.api.rules import broken
from qtj_operator.api.run_policy import BackoffLimit, DisruptionLimit, RunPolicy, Seconds, TimeToLive
from qtj_operator.api.tensorboard import Resources, TensorBoard

__all__ = [
    "NO_POLICY",
    "Given",
    "PlatformPolicy",
    "PlatformValues",
    "Source",
    "effective_run_policy",
    "effective_tensorboard",
    "given_to",
    "source_of",
]

_BUILT_IN = {"backoff_limit": BACKOFF_LIMIT}
"""What this project takes for a field that nobody gives. The others then have no limit."""


class PlatformValues(Model):
    """Values of a platform for fields of `spec.runPolicy`, and for the resources of TensorBoard."""

    active_deadline_seconds: Seconds | None = Field(None, description="For `runPolicy.activeDeadlineSeconds`.")
    pending_deadline_seconds: Seconds | None = Field(None, description="For `runPolicy.pendingDeadlineSeconds`.")
    ttl_seconds_after_finished: TimeToLive | None = Field(None, description="For `runPolicy.ttlSecondsAfterFinished`.")
    backoff_limit: BackoffLimit | None = Field(None, description="For `runPolicy.backoffLimit`.")
    disruption_limit: DisruptionLimit | None = Field(None, description="For `runPolicy.disruptionLimit`.")
    tensorboard_resources: Resources | None = Field(
        None, description="For `tensorboard.resources`; as a ceiling, `limits` alone."
    )

    def over(self, other: Self) -> Self:
        """Returns these values, and where there is none, that of the other."""
        own = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        return other.changed(**own)


_NOTHING = PlatformValues()
_NUMBERS = tuple(name for name in PlatformValues.model_fields if name in RunPolicy.model_fields)


class PlatformPolicy(Model):
    """What a platform gives to jobs."""

    defaults: PlatformValues = Field(_NOTHING, description="For fields that a job leaves out.")
    ceilings: PlatformValues = Field(_NOTHING, description="The most that a job gets, also one that asks for more.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        resources = self.ceilings.tensorboard_resources
        if resources is not None and resources.requests is not None:
            raise broken("ceilings.tensorboardResources has only limits: remove its requests")
        for name in _NUMBERS:
            value, most = getattr(self.defaults, name), getattr(self.ceilings, name)
            if value is not None and most is not None and value > most:
                raise broken(f"the default of {to_camel(name)}, {value}, is above its ceiling, {most}: lower it")
        return self


NO_POLICY = PlatformPolicy()


class Source(StrEnum):
    """From where a platform has a value."""

    DEFAULT = "default"
    CEILING = "ceiling"


class Given(NamedTuple):
    """A value that a job has from its platform.

    Attributes:
        field: Its field in the spec.
        value: The value, for people.
        source: Where it is from.
    """

    field: str
    value: str
    source: Source


def effective_run_policy(written: RunPolicy, policy: PlatformPolicy) -> RunPolicy:
    """Returns `spec.runPolicy` as decisions read it.

    Args:
        written: As the user wrote it.
        policy: What the platform gives.
    """
    values = {name: value for name in _NUMBERS if (value := _number(name, written, policy)) != getattr(written, name)}
    return written.changed(**values) if values else written


def effective_tensorboard(written: TensorBoard | None, policy: PlatformPolicy) -> TensorBoard | None:
    """Returns `spec.tensorboard` as decisions read it; None where the job has none."""
    if written is None:
        return None
    default, ceiling = policy.defaults.tensorboard_resources, policy.ceilings.tensorboard_resources
    resources = written.resources or default
    if ceiling is not None and ceiling.limits:
        resources = _at_most(resources or Resources.read(TENSORBOARD_RESOURCES), ceiling.limits)
    return written if resources is written.resources else written.changed(resources=resources)


def source_of(name: str, written: RunPolicy, policy: PlatformPolicy) -> Source | None:
    """Returns from where the platform has the value of a number; None if it is that of the user, or of this project.

    Args:
        name: The Python name of the field.
        written: As the user wrote it.
        policy: What the platform gives.
    """
    value, most = _wanted(name, written, policy), getattr(policy.ceilings, name)
    if most is not None and (value is None or value > most):
        return Source.CEILING
    is_default = getattr(written, name) is None and getattr(policy.defaults, name) is not None
    return Source.DEFAULT if is_default else None


def given_to(written: RunPolicy, board: TensorBoard | None, policy: PlatformPolicy) -> Iterator[Given]:
    """Yields the values that a job has from its platform.

    Args:
        written: Its `spec.runPolicy`.
        board: Its `spec.tensorboard`.
        policy: What the platform gives.
    """
    for name in _NUMBERS:
        if (source := source_of(name, written, policy)) is not None:
            yield Given(f"runPolicy.{to_camel(name)}", str(_number(name, written, policy)), source)
    effective = effective_tensorboard(board, policy)
    if board is not None and effective is not None and effective.resources != board.resources:
        asked = board.resources or policy.defaults.tensorboard_resources
        source = Source.DEFAULT if effective.resources == asked else Source.CEILING
        yield Given("tensorboard.resources", _in_words(effective.resources), source)


def _wanted(name: str, written: RunPolicy, policy: PlatformPolicy) -> int | None:
    values = (getattr(written, name), getattr(policy.defaults, name), _BUILT_IN.get(name))
    return next((value for value in values if value is not None), None)


def _number(name: str, written: RunPolicy, policy: PlatformPolicy) -> int | None:
    if source_of(name, written, policy) is Source.CEILING:
        most: int = getattr(policy.ceilings, name)
        return most
    own: int | None = getattr(written, name)
    default: int | None = getattr(policy.defaults, name)
    return default if own is None else own


def _at_most(asked: Resources, most: Mapping[str, Any]) -> Resources:
    """Returns resources below a ceiling, with the usual requests: without one, a request is as high as its limit."""
    usual = {name: amount for name, amount in TENSORBOARD_RESOURCES["requests"].items() if name in most}
    requests = {**usual, **(asked.requests or {})}
    return Resources(
        requests={name: _least(amount, most.get(name)) for name, amount in requests.items()} or None,
        limits={**most, **{name: _least(amount, most.get(name)) for name, amount in (asked.limits or {}).items()}},
    )


def _least(amount: Any, most: Any) -> Any:
    known, limit = amount_of(amount), amount_of(most)
    return most if known is not None and limit is not None and known > limit else amount


def _in_words(resources: Resources | None) -> str:
    """Returns resources in a line, such as requests cpu=100m, limits memory=2Gi."""
    found = resources.model_dump(exclude_none=True) if resources else {}
    return ", ".join(f"{kind} {name}={amount}" for kind, amounts in found.items() for name, amount in amounts.items())
