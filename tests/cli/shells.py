"""Real shells whose TAB key is pressed: bash and zsh in a pseudo-terminal, fish by its own command."""

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.missing import skip_or_fail

__all__ = ["Home", "needed", "screen"]

SOURCES = os.pathsep.join(str(Path(__file__).parents[2] / source) for source in ("operator", "trainer"))
SCRIPTS = {"qtj": "app", "kubectl-qtj": "kubectl_plugin", "kubectl_complete-qtj": "kubectl_completion"}
"""The scripts of pyproject.toml, and their functions."""
PROMPT = "ready> "
SECONDS = 120.0
"""A machine that is busy is no failure."""


def needed(program: str) -> str:
    """Returns the path of a program of Debian; the test is skipped where it is missing, but not in CI."""
    path = shutil.which(program)
    if path is None:
        skip_or_fail(f"{program} is not installed: apt-get install {program}")
    return path


@dataclass(frozen=True)
class Home:
    """The home of a user who has installed `qtj`."""

    path: Path

    @classmethod
    def made(cls, path: Path) -> "Home":
        (path / "bin").mkdir(parents=True)
        for name, function in SCRIPTS.items():
            script = path / "bin" / name
            script.write_text(f"#!{sys.executable}\nfrom qtj import {function}\n{function}()\n")
            script.chmod(0o755)
        return cls(path)

    def environment(self, **more: str) -> dict[str, str]:
        """Returns the environment of a shell that has read no file of the machine's user."""
        return {
            "PATH": f"{self.path / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": SOURCES,
            "HOME": str(self.path),
            "ZDOTDIR": str(self.path),
            "PS1": PROMPT,
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "KUBECONFIG": "/nonexistent",
            **more,
        }

    def run(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            words,
            cwd=self.path,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )


class Screen:
    """What a shell shows, and its keyboard."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._shown = ""

    def types(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def until(self, expected: str) -> None:
        """Waits until the screen shows a text, and forgets what came before."""
        last = time.monotonic() + SECONDS
        while expected not in self._shown:
            left = last - time.monotonic()
            ready, _, _ = select.select([self._terminal], [], [], max(left, 0))
            assert ready, f"{expected!r} is not on the screen: {self._shown!r}"
            # A terminal redraws a line with escapes and backspaces, which are not what is compared.
            self._shown += re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|[\x07\x08]", "", os.read(self._terminal, 4096).decode())
        self._shown = self._shown.partition(expected)[2]


@contextmanager
def screen(home: Home, *shell: str) -> Iterator[Screen]:
    """Starts a shell in a pseudo-terminal of its own, and waits for its prompt."""
    terminal, inside = os.openpty()
    process = subprocess.Popen(
        [needed("setsid"), "--ctty", "--wait", *shell],
        cwd=home.path,
        env=home.environment(),
        stdin=inside,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    try:
        shown = Screen(terminal)
        shown.until(PROMPT)
        yield shown
    finally:
        os.close(terminal)  # the shell gets SIGHUP
        process.wait(SECONDS)
