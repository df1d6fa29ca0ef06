"""If a log ends with an exception, its type and the first line of its message are reported, however long it is."""

import subprocess
import sys

import pytest

from qtj_operator.core.end_message import end_message


def message_of(code: str, kept: int = 2048) -> str:
    """Returns the message in the end of the log of a Python program."""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    return end_message(ended.stderr[-kept:])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no bucket')", "ValueError: no bucket"),
        ("raise ValueError('no bucket\\n  looked for a\\n  looked for b')", "ValueError: no bucket ... looked for b"),
        ("raise ValueError('\\nno bucket')", "ValueError: ... no bucket"),
        ("raise KeyError", "KeyError"),
        ("class Mine(Exception): pass\nraise Mine('a\\nb')", "Mine: a ... b"),
        ("from json import loads\nloads('{')", "json.decoder.JSONDecodeError: Expecting property name enclosed in"),
        ("try:\n    1/0\nexcept Exception:\n    raise OSError('a\\nb')", "OSError: a ... b"),
        ("import warnings\nx = 1 +", "SyntaxError: invalid syntax"),
        (
            "raise ExceptionGroup('two', [ValueError('a'), TypeError('b\\nc')])",
            "ExceptionGroup: two (2 sub-exceptions) ... c",
        ),
        ("import sys\nsys.exit('no bucket')", "no bucket"),
        ("import sys\nsys.exit('first\\nsecond')", "second"),
    ],
)
def test_an_exception_is_reported_with_its_type_and_first_line(code: str, message: str) -> None:
    assert message_of(code).startswith(message)
    assert message_of(code).count("...") == message.count("...")


def test_a_log_that_starts_within_the_traceback_gives_the_same() -> None:
    deep = "def down(n):\n    if n: down(n - 1)\n    raise ValueError('no bucket\\nat all')\ndown(30)"

    assert message_of(deep, kept=300) == "ValueError: no bucket ... at all"


def test_what_a_program_prints_after_an_exception_that_it_caught_is_last() -> None:
    code = "import traceback\ntry:\n    {}['a']\nexcept KeyError:\n    traceback.print_exc()\nexit('the disk is full')"

    assert message_of(code) == "KeyError: 'a' ... the disk is full"


@pytest.mark.parametrize(
    ("log", "message"), [("", ""), ("\n \n", ""), ("epoch 1\n\n", "epoch 1"), ('File "a', 'File "a')]
)
def test_without_an_exception_the_last_line_counts(log: str, message: str) -> None:
    assert end_message(log) == message
