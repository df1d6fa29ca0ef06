"""The termination message of a container: what its program left, as a kubelet takes it up."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from qtj_contract import TERMINATION_MESSAGE_LIMIT, TerminationMessage
from qtj_operator.api.job import main_container
from qtj_operator.controller.client import Object

__all__ = ["termination_message"]

_LOG_BYTES = 2048
"""What a kubelet takes of the log where there is no message."""


def termination_message(pod: Object, code: int, file: Path, tail: str, unhealthy: str | None) -> str:
    """Returns what the program left, else, where the pod wants it, the end of its log.

    Args:
        pod: The pod.
        code: The program's exit code.
        file: Where it was told to leave its message.
        tail: The end of its log.
        unhealthy: Why it was ended, when a probe was the reason. A kubelet says so in its events alone; here are none,
            and the job would only tell of a signal.
    """
    said = _read(file)
    if unhealthy and code:
        return replace(TerminationMessage.parse(said) or TerminationMessage(), error=unhealthy).to_json()
    policy = main_container(pod["spec"]["containers"]).get("terminationMessagePolicy")
    return tail[-_LOG_BYTES:] if not said and code and policy == "FallbackToLogsOnError" else said


def _read(file: Path) -> str:
    """Returns the beginning of a regular file: a program may put there what is never read to its end, as a FIFO."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, TERMINATION_MESSAGE_LIMIT).decode(errors="replace") if is_file else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
