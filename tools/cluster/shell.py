"""Running other programs, and telling the person in front of the screen."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

TAIL_LINES = 15


class ClusterError(Exception):
    """Something a person has to know; the message is one or two clear sentences."""

    exit_code = 1


class MissingError(ClusterError):
    """This machine lacks something that we do not install ourselves."""

    exit_code = 2


def say(text: str) -> None:
    """Progress goes to stderr: stdout is only for output that another program may read."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Says what starts, and how long it took."""
    say(f"{text} ...")
    began = time.monotonic()
    yield
    say(f"{text}: {time.monotonic() - began:.1f} s")


def run(
    *argv: str | Path,
    stdin: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> str:
    """Runs a program to its end and returns what it printed.

    Raises:
        ClusterError: it failed; the message has the command and the end of its output.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words, input=stdin, cwd=cwd, env=env, timeout=timeout, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise ClusterError(f"{words[0]} is not on this machine: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"`{' '.join(words)}` did not end within {timeout} s") from error
    if done.returncode:
        raise ClusterError(f"`{' '.join(words)}` failed ({done.returncode}):\n{tail(done.stderr or done.stdout)}")
    return done.stdout


def succeeds(*argv: str | Path, timeout: float | None = 30) -> bool:
    """Whether a program ends well: for questions, where a no is an answer and not an error."""
    try:
        run(*argv, timeout=timeout)
    except ClusterError:
        return False
    return True


def tail(text: str, lines: int = TAIL_LINES) -> str:
    """The end of a text, where programs say why they failed."""
    return "\n".join(f"  {line}" for line in text.strip().splitlines()[-lines:])


def wait_for(condition: Callable[[], bool], seconds: float, pause: float = 0.1) -> bool:
    """Polls until the condition holds; False when the time is over."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
    return True
