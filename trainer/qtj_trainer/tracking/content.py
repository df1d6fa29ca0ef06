"""What a tracking server gets of a training: what it is, the numbers of its epochs, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qtj_contract import Progress, named_numbers
from qtj_contract.progress_log import EpochRecord
from qtj_contract.secret_names import has_password, is_secret

__all__ = ["Description", "Point", "Study", "described", "numbers_of"]

_NOT_SHOWN = "(not shown)"


@dataclass(frozen=True, slots=True)
class Study:
    """The study that a training is a trial of.

    Attributes:
        identity: Its id: the same for all of its trials, and for no other study.
        name: Its name, for people.
    """

    identity: str
    name: str


@dataclass(frozen=True, slots=True)
class Description:
    """What a training is.

    Attributes:
        run: Its id: the same in all attempts, and in no other training.
        name: Its name, for people.
        milliseconds: When this attempt began, since 1970.
        parameters: Its settings, by name.
        labels: Where it comes from, by name; a later attempt may have others.
        study: The study that it is a trial of; None for none.
    """

    run: str
    name: str
    milliseconds: int
    parameters: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    study: Study | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The numbers of an epoch.

    Attributes:
        epoch: Its number.
        milliseconds: When it ended, since 1970.
        numbers: Finite numbers by name.
    """

    epoch: int
    milliseconds: int
    numbers: Mapping[str, float]


def described(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns settings as text, without those that are secret: by their name, or as an address with a password."""
    texts = {name: str(value) for name, value in settings.items()}
    return {name: _NOT_SHOWN if is_secret(name) or has_password(text) else text for name, text in texts.items()}


def numbers_of(epoch: Progress | EpochRecord) -> dict[str, float]:
    """Returns the numbers of an epoch by name, with its speed if that is known."""
    speed = epoch.examples_per_second
    return {**named_numbers(epoch), **({"examples_per_second": speed} if speed else {})}
