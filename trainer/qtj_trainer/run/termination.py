"""The termination message of a process."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import qtj_contract as contract

__all__ = ["leave_error", "leave_message"]


def leave_error(environment: Mapping[str, str], sentence: str) -> None:
    """Writes why the process ends, to stderr and as the termination message."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)  # noqa: T201  programs may show no log
    leave_message(environment, contract.TerminationMessage(error=sentence))


def leave_message(environment: Mapping[str, str], message: contract.TerminationMessage) -> None:
    """Writes the message where the kubelet reads it; outside of a pod, without the variable, nobody does."""
    named = environment.get(contract.Env.TERMINATION_LOG)
    path = Path(named or contract.TERMINATION_MESSAGE_PATH)
    if not named and not path.exists():
        return
    # The message repeats what the log says; failing to leave it must not turn a success into a failure.
    with suppress(OSError):
        path.write_text(message.to_json())
