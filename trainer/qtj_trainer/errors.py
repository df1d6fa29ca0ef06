"""The errors of the trainer, by what helps against them.

    TrainerError
    ├── UserError      the same run would fail again: the message says what to change
    │   └── DivergedError    its loss or its weights are no longer finite
    ├── TryAgainError  the environment failed, not the run: a lost peer, a store that does not answer
    └── StoppedError   nothing failed: SIGTERM asked the process to end

Every message is one sentence for the person who wrote the job: what, where, what to do. It ends without a full stop,
because other messages contain it.
"""

import os
import signal
from typing import ClassVar

import qtj_contract as contract

__all__ = ["DivergedError", "StoppedError", "TrainerError", "TryAgainError", "UserError", "cause_of"]


class TrainerError(Exception):
    """The reason why a run ended early, in one sentence.

    Attributes:
        exit_code: The exit code of the process. From it, the operator decides whether to run again.
    """

    exit_code: ClassVar[int]


class UserError(TrainerError):
    """The same run would fail again."""

    exit_code = 1


class DivergedError(UserError):
    """Training has numbers that are not finite, and later steps cannot correct them."""


class TryAgainError(TrainerError):
    """Another run may succeed without a change. Your own program may raise it if it has lost a peer."""

    exit_code = contract.EXIT_RETRY


class StoppedError(TrainerError):
    """SIGTERM ended this run. Another run continues from its checkpoint."""

    exit_code = 128 + signal.SIGTERM


def cause_of(problem: OSError) -> str:
    """Returns why a call of the system failed, without the address that `socket.create_server` adds to the reason."""
    return os.strerror(problem.errno) if problem.errno else str(problem)
