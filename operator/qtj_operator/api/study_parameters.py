"""The parameters of a study: which values a training is tried with."""

import math
from collections import Counter
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from qtj_operator.api.model import Model
from qtj_operator.api.rules import broken, cel

__all__ = ["MAX_VALUES", "NAME_PATTERN", "SEED", "Parameter", "Range", "Scale", "Value", "option_of", "text_of"]

SEED = "seed"
"""The name by which a program and `${seed}` get the seed of a trial."""

MAX_VALUES = 1000
"""The most values of one parameter on a grid."""

NAME_PATTERN = "^[A-Za-z]([-_A-Za-z0-9]*[A-Za-z0-9])?$"
"""Of a parameter."""
_VALUE = "this has to be a number, a text, true or false"
_NUMBER = "this has to be a number, without quotes"


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise broken(_NUMBER)
    return value


def _plain(value: object) -> object:
    if not isinstance(value, bool | int | float | str):  # else each of the types would say so in a sentence of its own
        raise broken(_VALUE)
    return value


Value = Annotated[StrictBool | StrictInt | StrictFloat | StrictStr, BeforeValidator(_plain)]
"""A value of a parameter."""
Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]


class Scale(StrEnum):
    """How the values of a range are spread."""

    LINEAR = "Linear"
    LOG = "Log"


_WHOLE = "self.min == double(int(self.min)) && self.max == double(int(self.max))"
_RANGE_RULES = (
    ("self.min < self.max", "max has to be larger than min"),
    (
        "!has(self.scale) || self.scale != 'Log' || self.min > 0.0",
        "a logarithm needs more than 0: raise min, or leave scale out",
    ),
    (f"!has(self.integer) || !self.integer || ({_WHOLE})", "min and max have to be whole numbers if integer is true"),
)


class Range(Model):
    """Numbers between two limits, both included."""

    model_config = ConfigDict(json_schema_extra=cel(*_RANGE_RULES))

    min: Number = Field(description="The smallest value.")
    max: Number = Field(description="The largest value.")
    scale: Scale | None = Field(
        None, description="Linear, also when left out: evenly spread. Log: as many between 0.01 and 0.1 as to 1."
    )
    integer: StrictBool | None = Field(None, description="Whether all values are whole numbers. False when left out.")
    points: StrictInt | None = Field(
        None,
        description="How many values a grid has. All whole numbers when left out, where `integer` is true.",
        ge=2,
        le=MAX_VALUES,
    )

    @property
    def is_log(self) -> bool:
        """Whether the logarithms of the values are evenly spread."""
        return self.scale == Scale.LOG

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min >= self.max:
            raise broken(f"min is {self.min:g} and max is {self.max:g}: max has to be larger")
        if not math.isfinite(self.max - self.min):
            raise broken(f"from {self.min:g} to {self.max:g} is more than a number can hold: take a smaller range")
        if self.is_log and self.min <= 0:
            raise broken(f"min is {self.min:g}, and a logarithm needs more than 0: raise min, or leave scale out")
        if self.integer and not (self.min.is_integer() and self.max.is_integer()):
            raise broken("min and max have to be whole numbers where integer is true")
        return self


_ONE_OF_TWO: dict[str, Any] = {"oneOf": [{"required": ["values"]}, {"required": ["range"]}]}
"""Not in CEL, which knows no field with values of several types."""


class Parameter(Model):
    """One parameter: listed values, or a range."""

    model_config = ConfigDict(json_schema_extra=_ONE_OF_TWO)

    name: str = Field(
        description="A program gets `learning_rate` as its argument `--learning-rate`, in place of `${learning_rate}`, "
        "and as `program.parameters['learning_rate']`.",
        pattern=NAME_PATTERN,
        max_length=63,
    )
    values: list[Value] | None = Field(
        None, description="The values: numbers, text, or true and false.", min_length=1, max_length=MAX_VALUES
    )
    range: Range | None = Field(None, description="Numbers between two limits, in place of `values`.")

    @property
    def option(self) -> str:
        """The option of a program that sets it."""
        return option_of(self.name)

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        if (self.values is None) == (self.range is None):
            raise broken(f"the parameter {self.name} needs either values or range: write one of the two")
        texts = Counter(text_of(each) for each in self.values or ())
        if twice := next((text for text, times in texts.items() if times > 1), None):
            raise broken(f"the parameter {self.name} has the value {twice} twice: remove one")
        return self


def option_of(name: str) -> str:
    """Returns the option of a program that sets a parameter."""
    return f"--{name.replace('_', '-')}"


def text_of(value: Value) -> str:
    """Returns a value as an argument of a program."""
    return str(value).lower() if isinstance(value, bool) else str(value)
