"""Writes the termination message of a process."""

import sys
from collections.abc import Mapping
from pathlib import Path

import qtj_contract as contract
from qtj_trainer.errors import TryAgainError

__all__ = ["report_error", "write_message"]


def report_error(environment: Mapping[str, str], sentence: str) -> None:
    """Reports why the process ends, on stderr and in the termination message."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)  # noqa: T201  programs may show no log
    write_message(environment, contract.TerminationMessage(error=sentence))


def write_message(environment: Mapping[str, str], message: contract.TerminationMessage) -> None:
    """Writes the message to the file that the kubelet reads; does nothing outside of a pod and without the variable.

    Raises:
        TryAgainError: The message names weights and cannot be written. The operator would never know of them. If it is
            run again, the process finds its result and ends at once.
    """
    named = environment.get(contract.Env.TERMINATION_LOG)
    path = Path(named or contract.TERMINATION_MESSAGE_PATH)
    if not named and not path.exists():
        return
    try:
        path.write_text(message.to_json(_limit(environment)))
    except OSError as problem:
        if message.weights:  # the log has the rest
            cause = f"the termination message cannot be written to {path} ({problem.strerror})"
            raise TryAgainError(f"{cause}: make room on the node") from problem


def _limit(environment: Mapping[str, str]) -> int:
    """Returns how many bytes the kubelet keeps of the message."""
    given = environment.get(contract.Env.TERMINATION_LIMIT, "")
    return int(given) if given.isdecimal() else contract.TERMINATION_MESSAGE_LIMIT
