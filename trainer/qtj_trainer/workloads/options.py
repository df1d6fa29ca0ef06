"""Options of a workload: declared once, shown by ``--help``, checked wherever they come from."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self, get_type_hints

from qtj_trainer.errors import UserError

__all__ = ["Bounds", "Optimizer", "Options", "option"]


class Optimizer(StrEnum):
    """Keras optimizers, with the settings they have by default."""

    ADAM = "adam"
    SGD = "sgd"
    RMSPROP = "rmsprop"
    ADAGRAD = "adagrad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The range of a number: from `at_least` or above `above`, to `at_most`."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None

    def __contains__(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
        )

    def __str__(self) -> str:
        limits = {"at least": self.at_least, "above": self.above, "at most": self.at_most}
        return " and ".join(f"{word} {limit:,}" for word, limit in limits.items() if limit is not None)


def option(
    default: float | str,
    teach: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    env: str | None = None,
) -> Any:  # noqa: ANN401  stands for a value of the field's type, as dataclasses.field does
    """Declares an option as a field of an `Options` class.

    Args:
        default: Its value when nobody sets it.
        teach: What ``--help`` says about it.
        at_least: Smallest value.
        above: Value it must exceed.
        at_most: Largest value.
        env: Environment variable that replaces the default.
    """
    bounds = None if isinstance(default, str) else Bounds(at_least=at_least, above=above, at_most=at_most)
    return field(default=default, metadata={"teach": teach, "bounds": bounds, "env": env})


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options every workload has; a workload adds its own in a subclass."""

    epochs: int = option(25, "Passes over the training examples.", at_least=1, at_most=1_000_000)
    batch_size: int = option(16, "Examples in one optimizer step, over all workers together.", at_least=1)
    learning_rate: float = option(0.02, "Step size of the optimizer.", above=0, at_most=10)
    optimizer: Optimizer = option(Optimizer.ADAM.value, "What turns gradients into steps.")
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
    seed: int = option(0, "Decides data, initial weights and order of examples.", at_least=0, at_most=2_147_483_647)

    def __post_init__(self) -> None:
        for each in fields(self):
            if complaint := self.complaint(each.name, getattr(self, each.name)):
                raise UserError(f"--{each.name.replace('_', '-')} {complaint}")

    @classmethod
    def complaint(cls, name: str, value: float) -> str:
        """Says what is wrong with an option's value, to be read after its name; nothing if it is good."""
        [bounds] = [each.metadata["bounds"] for each in fields(cls) if each.name == name]
        return f"is {value}: it must be {bounds}" if bounds and value not in bounds else ""

    def completed(self) -> Self:
        """Returns the options with all that the data decides, which is read for that, before TensorFlow is loaded."""
        return self

    def on_parameter_servers(self) -> Self:
        """Returns the options with which other processes can run the operations of the model."""
        return self

    @classmethod
    def from_record(cls, recorded: Mapping[str, Any]) -> Self:
        """Restores options from a record.

        Raises:
            UserError: If this version of the trainer has other options, or one has a value that cannot be.
        """
        names = {each.name for each in fields(cls)}
        if set(recorded) != names:
            odd = ", ".join(sorted(set(recorded) ^ names))
            raise UserError(f"the record of the weights has other options than this trainer ({odd}): use its version")
        return cls(**{name: _recorded(name, kind, recorded[name]) for name, kind in get_type_hints(cls).items()})


def _recorded(name: str, kind: type, value: object) -> Any:  # noqa: ANN401  an instance of that type
    """Returns the value of a recorded option: JSON has one kind of number, and texts for choices."""
    takes = {int: (int,), float: (int, float)}.get(kind, (str,))
    if type(value) in takes:
        with suppress(ValueError):
            return kind(value)
    raise UserError(
        f"the record of the weights says the option {name} is {value!r}, which cannot be: restore it or train again"
    )
