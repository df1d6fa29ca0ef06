"""The limits of this machine for the start of a program, and messages for its errors, one sentence each."""

import errno
import os
import sys
from collections.abc import Mapping, Sequence

__all__ = ["CannotStartError", "not_started", "refuse_unstartable"]

_LONGEST = 32 * os.sysconf("SC_PAGE_SIZE") - 1 if sys.platform == "linux" else None
"""Bytes of one argument, or of one variable with its name: MAX_ARG_STRLEN of execve(2), without the NUL at the end."""

_SHORT_OF = {errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE}
"""Resources that may be available later."""
_ADVICE = {
    errno.E2BIG: "all variables and arguments together are longer than this machine allows: pass them in a file",
    errno.ENOEXEC: "it is neither a program of this machine nor a script: begin a script with a line like #!/bin/sh",
    errno.EACCES: "this user may not run it or enter workingDir: correct the permissions",
    errno.ENOENT: "it, workingDir or the program in its first line does not exist: correct the container's command",
}


class CannotStartError(Exception):
    """A container that cannot run here; the message is one sentence.

    Attributes:
        reason: The kubelet's reason.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def refuse_unstartable(container: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuses arguments and variables that no program can get.

    Args:
        container: Its name.
        command: The program and its arguments.
        environment: All of its environment.

    Raises:
        CannotStartError: An argument or a variable is not possible.
    """
    owner = f"of the container {container}"
    for name in environment:
        if not name or "=" in name:
            raise _refused(f'the name of the variable "{name}" {owner}', "is empty or has a =")
    texts = {f"argument {index} {owner}": word for index, word in enumerate(command)}
    texts |= {f"the variable {name!a} {owner}": f"{name}={value}" for name, value in environment.items()}
    for what, text in texts.items():
        if "\0" in text:
            raise _refused(what, "has a NUL character, which no program can be given")
        if _LONGEST is not None and _length(what, text) > _LONGEST:
            raise CannotStartError(
                "CreateContainerError",
                f"{what} has {_length(what, text)} bytes, and Linux allows {_LONGEST}: pass it in a file",
            )


def not_started(program: str, number: int) -> Exception:
    """Returns the exception for a program that the system did not start.

    Args:
        program: The program.
        number: The system's error number.
    """
    if number in _SHORT_OF:
        return OSError(number, os.strerror(number))
    advice = _ADVICE.get(number, f"{os.strerror(number)}: correct the container's command")
    return CannotStartError("StartError", f"{program} cannot be started: {advice}")


def _length(what: str, text: str) -> int:
    try:
        return len(os.fsencode(text))
    except UnicodeEncodeError:
        raise _refused(what, "has a character that cannot be encoded") from None


def _refused(what: str, why: str) -> CannotStartError:
    return CannotStartError("CreateContainerError", f"{what} {why}: correct it")
