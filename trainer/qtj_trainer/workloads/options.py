"""Options of a workload: declared once, shown by ``--help``, checked wherever they come from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from qtj_trainer.errors import UserError

__all__ = ["Bounds", "Choices", "Options", "choice", "option"]


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


@dataclass(frozen=True, slots=True)
class Choices:
    """A few words to choose from."""

    words: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.words

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


def choice(default: str, teach: str, *, among: Iterable[str], env: str | None = None) -> Any:  # noqa: ANN401  as `option`
    """Declares an option with a few possible words.

    Args:
        default: Its value when nobody sets it.
        teach: What ``--help`` says about it.
        among: The words.
        env: Environment variable that replaces the default.
    """
    return field(default=default, metadata={"teach": teach, "bounds": Choices(tuple(among)), "env": env})


def option(
    default: float,
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
    bounds = Bounds(at_least=at_least, above=above, at_most=at_most)
    return field(default=default, metadata={"teach": teach, "bounds": bounds, "env": env})


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options every workload has; a workload adds its own in a subclass."""

    epochs: int = option(25, "Passes over the training examples.", at_least=1, at_most=1_000_000)
    batch_size: int = option(16, "Examples in one optimizer step, over all workers together.", at_least=1)
    learning_rate: float = option(0.02, "Step size of the Adam optimizer.", above=0, at_most=10)
    checkpoint_every: int = option(
        1, "Epochs from one checkpoint to the next; 0 makes none and resumes from none.", at_least=0
    )
    seed: int = option(0, "Decides data, initial weights and order of examples.", at_least=0, at_most=2_147_483_647)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            bounds = each.metadata["bounds"]
            if value not in bounds:
                flag = each.name.replace("_", "-")
                raise UserError(f"--{flag} is {value}: it must be {bounds}")

    @classmethod
    def from_record(cls, recorded: Mapping[str, Any]) -> Self:
        """Restores options from a record.

        Raises:
            UserError: If this version of the trainer has other options.
        """
        names = {each.name for each in fields(cls)}
        if set(recorded) != names:
            odd = ", ".join(sorted(set(recorded) ^ names))
            raise UserError(f"the record of the weights has other options than this trainer ({odd}): use its version")
        return cls(**recorded)
