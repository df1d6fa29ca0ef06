"""Messages about a program that this machine does not start, by the error of the system."""

import errno

import pytest

from qtj.local.startable import CannotStartError, not_started, refuse_unstartable


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOENT, "it, workingDir or the program in its first line does not exist: correct the container's"),
        (errno.EACCES, "this user may not run it or enter workingDir: correct the permissions"),
        (errno.ENOEXEC, "it is neither a program of this machine nor a script: begin a script with a line like #!/bin"),
        (errno.E2BIG, "all variables and arguments together are longer than this machine allows: pass them in a file"),
        (errno.EIO, "Input/output error: correct the container's command"),
    ],
)
def test_a_refusal_that_would_come_again_says_what_to_do(number: int, why: str) -> None:
    refused = not_started("/bin/train", number)

    assert isinstance(refused, CannotStartError)
    assert str(refused).startswith(f"/bin/train cannot be started: {why}")
    assert refused.reason == "StartError"


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE])
def test_what_is_short_now_may_be_there_later(number: int) -> None:
    refused = not_started("/bin/train", number)

    assert isinstance(refused, OSError)
    assert refused.errno == number
    assert refused.strerror


@pytest.mark.parametrize(
    ("command", "environment", "what"),
    [
        (["a", "b\0c"], {}, "argument 1 of the container trainer has a NUL character"),
        (["a"], {"X": "\0"}, "the variable 'X' of the container trainer has a NUL character"),
        (["a"], {"": "1"}, 'the name of the variable "" of the container trainer is empty or has a ='),
        (["a"], {"X=Y": "1"}, 'the name of the variable "X=Y" of the container trainer is empty or has a ='),
        (["\udcff\ud800"], {}, "argument 0 of the container trainer has a character that cannot be encoded"),
    ],
)
def test_what_no_program_can_be_given_is_a_mistake_in_its_container(
    command: list[str], environment: dict[str, str], what: str
) -> None:
    with pytest.raises(CannotStartError) as refused:
        refuse_unstartable("trainer", command, environment)

    assert str(refused.value).startswith(what)
    assert str(refused.value).endswith(": correct it")
    assert refused.value.reason == "CreateContainerError"
