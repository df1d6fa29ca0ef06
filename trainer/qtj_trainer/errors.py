"""What can go wrong, by what helps against it.

    TrainerError
    ├── UserError      the same run would fail again: the sentence says what to change
    │   └── DivergedError    its loss or its weights are not finite any more
    ├── TryAgainError  the world failed, not the run: a dead peer, a store that does not answer
    └── StoppedError   nothing failed: the process was told to end

Every message is one sentence for the person who wrote the job: what, where, what to do. It ends without a full stop,
because others go on from there.
"""

import signal
from typing import ClassVar

import qtj_contract as contract

__all__ = ["DivergedError", "StoppedError", "TrainerError", "TryAgainError", "UserError", "reason_of"]

_LONGEST = 200
"""Characters that are shown of another library's message."""


class TrainerError(Exception):
    """A run that ended early, in one sentence.

    Attributes:
        exit_code: The code the process ends with; the operator decides by it whether to run again.
    """

    exit_code: ClassVar[int]


class UserError(TrainerError):
    """The same run would fail again."""

    exit_code = 1


class DivergedError(UserError):
    """Training has come to numbers that are not finite, from which no step leads back."""


class TryAgainError(TrainerError):
    """Another run may succeed as it is: a program of one's own may raise it, where it has lost a peer."""

    exit_code = contract.EXIT_RETRY


class StoppedError(TrainerError):
    """Another run will go on where this one was told to end."""

    exit_code = 128 + signal.SIGTERM


def reason_of(problem: Exception) -> str:
    """Returns what a library's exception says, as a part of a sentence: on one line, and not longer than that."""
    return (" ".join(str(problem).split()) or type(problem).__name__)[:_LONGEST]
