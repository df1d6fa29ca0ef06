"""What no program can be given, what is no program, and what the system does not start: a sentence."""

import errno
from pathlib import Path
from typing import Any

import pytest

from qtj.local.container import CannotStartError, not_started, program_of
from tests.local.test_program import pod_with

LONG = "x" * 200_000


def refusal(*env: dict[str, Any], configs: dict[tuple[str, str], Any] | None = None, **container: Any) -> str:
    """Returns why a container cannot run here."""
    with pytest.raises(CannotStartError) as refused:
        program_of(pod_with(*env, **container), configs=configs or {}, replaced={})
    assert refused.value.reason.startswith(("CreateContainer", "StartError"))
    return str(refused.value)


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (
            {"name": "DATA", "value": LONG},
            "the variable 'DATA' of the container trainer has 200005 bytes, and Linux allows",
        ),
        ({"name": "A=B", "value": "1"}, 'the name of the variable "A=B" of the container trainer is empty or has a ='),
        ({"name": "", "value": "1"}, 'the name of the variable "" of the container trainer is empty or has a ='),
        ({"name": "A\0B", "value": "1"}, r"the variable 'A\x00B' of the container trainer has a NUL character"),
        ({"name": "A", "value": "1\0"}, "the variable 'A' of the container trainer has a NUL character"),
        ({"name": "A", "value": "\ud800"}, "the variable 'A' of the container trainer has a character that cannot be"),
    ],
)
def test_a_variable_that_no_program_can_have_is_named(variable: dict[str, Any], sentence: str) -> None:
    assert refusal(variable).startswith(sentence)


@pytest.mark.parametrize("data", [{"A=B": "1"}, {"A": "1\0"}, {"A": LONG}])
def test_a_configmap_is_no_way_round(data: dict[str, str]) -> None:
    found = refusal(envFrom=[{"configMapRef": {"name": "c"}}], configs={("ConfigMap", "c"): data})

    assert "variable" in found
    assert "of the container trainer" in found


def test_the_longest_variable_that_linux_allows_is_allowed() -> None:
    value = "x" * (131_071 - len("A="))

    assert program_of(pod_with({"name": "A", "value": value}), configs={}, replaced={}).environment["A"] == value
    assert "has 131072 bytes" in refusal({"name": "A", "value": value + "x"})


@pytest.mark.parametrize(
    ("container", "sentence"),
    [
        ({"args": ["a\0b"]}, "argument 1 of the container trainer has a NUL character"),
        ({"args": ["\udcff\ud800"]}, "argument 1 of the container trainer has a character that cannot be encoded"),
        ({"args": [LONG]}, "argument 1 of the container trainer has 200000 bytes"),
        ({"command": ["py\0thon"]}, "argument 0 of the container trainer has a NUL character"),
        ({"command": [""]}, 'the program "" of the container trainer is not on this machine'),
        ({"command": ["/tmp"]}, 'the program "/tmp" of the container trainer is a folder'),
        ({"command": ["/none/such"]}, 'the program "/none/such" of the container trainer is not on this machine'),
        ({"workingDir": "/a\0b"}, r"workingDir '/a\x00b' of the container trainer is not a folder of this machine"),
        ({"workingDir": "/etc/passwd"}, "workingDir '/etc/passwd' of the container trainer is not a folder"),
    ],
)
def test_a_command_that_cannot_be_run_is_named(container: dict[str, Any], sentence: str) -> None:
    assert refusal(**container).startswith(sentence)


def test_a_file_that_is_not_executable_is_named(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("#!/bin/sh\n")

    sentence = refusal(command=["./train"], workingDir=str(tmp_path))

    assert sentence.endswith(f"is not executable: chmod +x {tmp_path / 'train'}")


def test_a_relative_command_lies_below_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("#!/bin/sh\n")
    (tmp_path / "train").chmod(0o755)

    program = program_of(pod_with(command=["./train"], workingDir=str(tmp_path)), configs={}, replaced={})

    assert program.command == (str(tmp_path / "train"),)


def test_numbers_of_a_configmap_are_text() -> None:
    pod = pod_with({"name": "B", "value": "$(the_1)"}, envFrom=[{"configMapRef": {"name": "c"}, "prefix": "the_"}])

    environment = program_of(pod, configs={("ConfigMap", "c"): {1: 2}}, replaced={}).environment  # type: ignore[dict-item]  # as YAML reads them

    assert (environment["the_1"], environment["B"]) == ("2", "2")


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
