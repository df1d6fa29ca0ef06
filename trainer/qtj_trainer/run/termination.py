"""Writes the termination message of a process."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import qtj_contract as contract

__all__ = ["report_error", "write_message"]


def report_error(environment: Mapping[str, str], sentence: str) -> None:
    """Reports why the process ends, on stderr and in the termination message."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)  # noqa: T201  programs may show no log
    write_message(environment, contract.TerminationMessage(error=sentence))


def write_message(environment: Mapping[str, str], message: contract.TerminationMessage) -> None:
    """Writes the message to the file that the kubelet reads; does nothing outside of a pod and without the variable."""
    named = environment.get(contract.Env.TERMINATION_LOG)
    path = Path(named or contract.TERMINATION_MESSAGE_PATH)
    if not named and not path.exists():
        return
    # The log has the same information, so an error here must not make a successful process fail.
    with suppress(OSError):
        path.write_text(message.to_json())
