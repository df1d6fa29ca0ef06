"""Trainers and programs that are forked from a process that has loaded TensorFlow.

As a script, `python -m tests.trainer.forked`, this is that process: see `qtj_trainer.fork_server`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from qtj_contract import Env

_AS_GIVEN = {*Env, "QTJ_DEVICES", "TMPDIR", "STORAGE_EMULATOR_HOST"}
"""Variables that nothing reads before the program does."""
_CHANGING = "PYTEST_CURRENT_TEST"
_PERIOD_SECONDS = 0.02
_PR_SET_CHILD_SUBREAPER = 36


class Forked:
    """A forked process, which is a child of this one, with the methods of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked trainer", timeout)
            time.sleep(_PERIOD_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Server:
    """Forks trainers. It is started for the first of them, and ends with this process.

    Args:
        folder: Where it is started: the repository.
        environment: What all of them have in their environment.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = _read_early(environment)
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: int, errors: int
    ) -> Forked | None:
        """Forks a program; returns None if it has a variable that may be read before it starts."""
        if _read_early(environment) != self._environment:
            return None
        if self._process is None:
            self._begin()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            socket.send_fds(self._connection, [b"\n"], [theirs.fileno(), output, errors])
            ours.sendall(json.dumps([list(command), str(folder), dict(environment)]).encode())
            ours.shutdown(socket.SHUT_WR)
            answer = self._connection.recv(32)
        assert answer, "the fork server has ended"
        return Forked(int(answer))

    def _begin(self) -> None:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.trainer.forked", "-" * 4096],
                cwd=self._folder,
                env={**self._environment, "QTJ_FORK_SERVER_ROOM": "-" * 8192},
                stdin=theirs.fileno(),
            )
        assert self._connection.recv(1), "the fork server cannot start"

    def close(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.wait()
            self._process = None


def _read_early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in {*_AS_GIVEN, _CHANGING}}


def _main() -> None:
    from qtj_trainer.fork_server import run, serve

    descriptors = serve()
    if descriptors is not None:
        with os.fdopen(0, "rb", closefd=False) as request:
            command, folder, environment = json.load(request)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        run(command, environment, descriptors)


if __name__ == "__main__":
    _main()
