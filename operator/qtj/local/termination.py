"""The termination message of a container: what its program wrote, as a kubelet reads it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from qtj_contract import TERMINATION_MESSAGE_LIMIT, TerminationMessage
from qtj_contract.whole_file import regular
from qtj_operator.api.job import main_container
from qtj_operator.controller.client import Object

__all__ = ["termination_message"]

_LOG_BYTES = 2048
"""How much of the log a kubelet uses if there is no message."""


def termination_message(pod: Object, code: int, file: Path, tail: str, unhealthy: str | None) -> str:
    """Returns the program's message, or else, if the pod asks for that, the end of its log.

    Args:
        pod: The pod.
        code: The program's exit code.
        file: Where it should write its message.
        tail: The end of its log.
        unhealthy: The failed probe because of which it was ended. A kubelet reports that only in its events, which do
            not exist here, so the job would only report a signal.
    """
    message = _read(file)
    if unhealthy and code:
        return replace(TerminationMessage.parse(message) or TerminationMessage(), error=unhealthy).to_json()
    policy = main_container(pod["spec"]["containers"]).get("terminationMessagePolicy")
    return tail[-_LOG_BYTES:] if not message and code and policy == "FallbackToLogsOnError" else message


def _read(file: Path) -> str:
    """Returns the start of a regular file: a program may have put something there that never ends, such as a FIFO."""
    with suppress(OSError), regular(file) as opened:
        return opened.read(TERMINATION_MESSAGE_LIMIT).decode(errors="replace")
    return ""
