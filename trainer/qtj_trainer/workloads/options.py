"""Options of a workload: declared once, shown by ``--help``, and checked for each source of values."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import Field, asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Self, get_type_hints

import numpy as np

from qtj_trainer.errors import UserError

__all__ = ["Bounds", "Optimizer", "Options", "Schedule", "option"]

_WITHOUT_EFFECT_ON_NUMBERS = frozenset(
    {"epochs", "checkpoint_every", "checkpoint_steps", "devices", "log_every", "engine_device"}
)
"""Options that do not change what a step computes, except for rounding."""


class Optimizer(StrEnum):
    """Keras optimizers, with Keras' default settings."""

    ADAM = "adam"
    SGD = "sgd"
    RMSPROP = "rmsprop"
    ADAGRAD = "adagrad"


class Schedule(StrEnum):
    """How the learning rate changes after the warm-up."""

    CONSTANT = "constant"
    LINEAR = "linear"
    COSINE = "cosine"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The range of a number: from `at_least` or above `above`, to `at_most` or below `below`."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def __contains__(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        limits = {"at least": self.at_least, "above": self.above, "at most": self.at_most, "below": self.below}
        return " and ".join(f"{name} {limit:,}" for name, limit in limits.items() if limit is not None)


def option(
    default: float | str,
    help_text: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    env: str | None = None,
    added: bool = False,
) -> Any:
    """Declares an option as a field of an `Options` class.

    Args:
        default: Its value if it is not set.
        help_text: Its text in ``--help``.
        at_least: The smallest value.
        above: A lower bound that is not itself allowed.
        at_most: The largest value.
        below: An upper bound that is not itself allowed.
        env: Environment variable that replaces the default.
        added: Whether stored checkpoints and records may be older than the option. Its default must then keep the
            earlier behaviour.
    """
    bounds = Bounds(at_least=at_least, above=above, at_most=at_most, below=below)
    of_number = None if isinstance(default, str) else bounds
    return field(default=default, metadata={"help_text": help_text, "bounds": of_number, "env": env, "added": added})


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options every workload has; a workload adds its own in a subclass."""

    epochs: int = option(25, "Passes over the training examples.", at_least=1, at_most=1_000_000)
    batch_size: int = option(16, "Examples in one optimizer step, over all workers together.", at_least=1)
    learning_rate: float = option(0.02, "Step size of the optimizer.", above=0, at_most=10)
    schedule: Schedule = option(Schedule.CONSTANT.value, "How the learning rate changes after the warm-up.", added=True)
    warmup_steps: int = option(
        0, "Optimizer steps in which the learning rate rises from 0 to --learning-rate.", at_least=0, added=True
    )
    decay_steps: int = option(
        0, "Optimizer steps of the schedule after the warm-up; 0 takes all that are left.", at_least=0, added=True
    )
    decay_to: float = option(
        0.01, "What the schedule leaves of the learning rate after --decay-steps, as a share of it.",
        at_least=0, at_most=1, added=True,
    )  # fmt: skip
    optimizer: Optimizer = option(Optimizer.ADAM.value, "What turns gradients into steps.")
    momentum: float = option(
        0.0, "Share of the last step that sgd and rmsprop take once more.", at_least=0, below=1, added=True
    )
    beta_1: float = option(0.9, "Decay of adam's mean of the gradients.", at_least=0, below=1, added=True)
    beta_2: float = option(0.999, "Decay of adam's mean of their squares.", at_least=0, below=1, added=True)
    weight_decay: float = option(
        0.0, "Share of each weight, times the learning rate, that a step takes away from it; 0 takes none.",
        at_least=0, at_most=1, added=True,
    )  # fmt: skip
    clip_norm: float = option(
        0.0, "Norm of all gradients together, above which they are made smaller; 0 never does that.",
        at_least=0, at_most=1_000_000, added=True,
    )  # fmt: skip
    patience: int = option(
        0,
        "Epochs without a lower loss on the held-out set, after which training ends with the weights of the best epoch;"
        " 0 trains all epochs and takes the last weights.",
        at_least=0,
        at_most=1_000_000,
        added=True,
    )
    min_delta: float = option(
        0.0, "How much lower the loss has to be for --patience.", at_least=0, at_most=1_000_000, added=True
    )
    devices: int = option(
        0,
        "Devices of this process that train; 0 takes all GPUs, or the processor. Without GPUs, more than 1 makes"
        " logical devices of the processor.",
        at_least=0,
        at_most=64,
        env="QTJ_DEVICES",
    )
    checkpoint_every: int = option(1, "Epochs from one checkpoint to the next; 0 makes none by epoch.", at_least=0)
    checkpoint_steps: int = option(
        0,
        "Optimizer steps from one checkpoint to the next; 0 makes none by step. With both 0 a run resumes from none.",
        at_least=0,
    )
    log_every: int = option(
        0, "Optimizer steps from one point of TensorBoard's curves by step to the next; 0 draws curves by epoch only.",
        at_least=0, added=True,
    )  # fmt: skip
    seed: int = option(0, "Decides data, initial weights and order of examples.", at_least=0, at_most=2_147_483_647)

    def __post_init__(self) -> None:
        for each in fields(self):
            if problem_with := self.problem_with(each.name, getattr(self, each.name)):
                raise UserError(f"{_flag(each.name)} {problem_with}")
        for name in _USED_WITH:
            self._check_use(name)
        if self.schedule == Schedule.EXPONENTIAL and not self.decay_to:
            raise UserError("--decay-to is 0 and --schedule is exponential, which never reaches 0: it must be above 0")

    @classmethod
    def problem_with(cls, name: str, value: float) -> str:
        """Returns what is wrong with an option's value, as a text that follows its name; empty if it is valid."""
        [bounds] = [each.metadata["bounds"] for each in fields(cls) if each.name == name]
        if not bounds or value in bounds:
            return _problem_in_float32(value, bounds) if bounds and isinstance(value, float) else ""
        return f"is {value}: it must be {bounds}"

    def completed(self) -> Self:
        """Returns the options with those that the data decides. It reads the data, before TensorFlow is loaded."""
        return self

    def affecting_numbers(self) -> dict[str, Any]:
        """Returns the options that affect the numbers of training, without defaults of options added later."""
        schedule_ends_with_training = self.schedule != Schedule.CONSTANT and not self.decay_steps
        ignored = _WITHOUT_EFFECT_ON_NUMBERS - ({"epochs"} if schedule_ends_with_training else set())
        values = asdict(self)
        untouched = {each.name for each in fields(self) if _is_added(each) and values[each.name] == each.default}
        return {name: value for name, value in values.items() if name not in ignored | untouched}

    @classmethod
    def from_record(cls, recorded: Mapping[str, Any]) -> Self:
        """Restores options from a record.

        Raises:
            UserError: If this version of the trainer has other options, or the value of one is invalid.
        """
        complete = {each.name: each.default for each in fields(cls) if _is_added(each)} | dict(recorded)
        names = {each.name for each in fields(cls)}
        if set(complete) != names:
            odd = ", ".join(sorted(set(complete) ^ names))
            raise UserError(f"the record of the weights has other options than this trainer ({odd}): use its version")
        return cls(**{name: _recorded(name, kind, complete[name]) for name, kind in get_type_hints(cls).items()})

    def _check_use(self, name: str) -> None:
        """Refuses an option that would have no effect."""
        other, wanted = _USED_WITH[name]
        [default] = [each.default for each in fields(self) if each.name == name]
        value, chosen = getattr(self, name), getattr(self, other)
        if value != default and chosen not in wanted:
            need = " or ".join(wanted) if isinstance(wanted, tuple) else str(wanted)
            raise UserError(
                f"{_flag(name)} is {value} and {_flag(other)} is {chosen}, which does not use it: set {_flag(other)} to"
                f" {need}, or leave {_flag(name)} out"
            )


_DECAYING = (Schedule.LINEAR, Schedule.COSINE, Schedule.EXPONENTIAL)
_USED_WITH: Mapping[str, tuple[str, tuple[str, ...] | Bounds]] = {
    "momentum": ("optimizer", (Optimizer.SGD, Optimizer.RMSPROP)),
    "beta_1": ("optimizer", (Optimizer.ADAM,)),
    "beta_2": ("optimizer", (Optimizer.ADAM,)),
    "decay_steps": ("schedule", _DECAYING),
    "decay_to": ("schedule", _DECAYING),
    "min_delta": ("patience", Bounds(at_least=1)),
}
"""Options that have an effect only with some values of another option."""


def _problem_in_float32(value: float, bounds: Bounds) -> str:
    """Returns what is wrong with a number in single precision, in which training computes; empty if it is valid.

    Numbers smaller than `tiny` are 0 there.
    """
    tiny = float(np.finfo(np.float32).tiny)
    used = 0.0 if abs(value) < tiny else float(np.float32(value))
    if used in bounds and (used or not value):
        return ""
    must = str(bounds) if used not in bounds else f"0, or at least {tiny:.3g}"
    return f"is {value}, which is {used:g} in single precision: it must be {must}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _is_added(of: Field[Any]) -> bool:
    return bool(of.metadata["added"])


def _recorded(name: str, kind: type, value: object) -> Any:
    """Returns the value of a recorded option: JSON has a single type of numbers, and strings for choices."""
    takes = {int: (int,), float: (int, float)}.get(kind, (str,))
    if type(value) in takes:
        with suppress(ValueError):
            return kind(value)
    raise UserError(
        f"the record of the weights has the option {name} with the invalid value {value!r}: restore it or train again"
    )
