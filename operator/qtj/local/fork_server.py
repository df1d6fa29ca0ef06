"""The process that loads TensorFlow once, and forks each trainer of a run: see `qtj_trainer.fork_server`.

Trials of a user's script are forked too, from a server that has imported what the script imports, where that is safe:
see `qtj.local.forkable`.

A program that is forked is as one that starts alone. So whatever else the start of Python and an import read has to be
as in the server: this Python, the working directory and all variables but those that the operator sets. Any other
program starts alone, and so does every one without a server: where it has ended, and where loading has left threads.
"""

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from qtj.local import launch
from qtj.local.container import TRAINER, ProcessSpec, base_environment, confined
from qtj.local.forkable import imports_of
from qtj_contract import Env
from qtj_operator.api.job import is_trainer, main_container
from qtj_operator.controller.client import Object
from qtj_operator.manifests.process_group import PROCESS_GROUP

__all__ = ["MARK", "Child", "ForkServer", "fork_server_for", "new_mark"]

MARK = "QTJ_RUN"
"""A variable that marks the processes of a run: see `qtj.local.process`."""

_ROOM = 8192
"""The most bytes of the command of a forked program, and of the variables that it has beside those of the server."""
_PATIENCE_SECONDS = 10.0
"""How long a fork may take."""
_OURS = frozenset(Env) | PROCESS_GROUP
"""Variables that the operator sets, and that neither the start of Python nor an import reads."""


def new_mark() -> Mapping[str, str]:
    """Returns the variable for the environment of each program of a run, with a value that no other run has."""
    return {MARK: secrets.token_hex(8)}


class Child:
    """A child of this process that it has not started itself, with the methods of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def wait(self) -> int:
        """Waits for its end and returns its exit code, or minus the signal that ended it."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless its end was waited for."""
        if self._code is None:
            os.kill(self.pid, number)


class ForkServer:
    """A running fork server. It has to be closed.

    Args:
        environment: The environment of the programs to fork; variables that the operator sets are left out.
        python: The Python of these programs.
        imports: What the scripts to fork import, see `imports_of`; None for a server of trainers.

    Attributes:
        mark: A variable for the environment of each program of this run.
        pid: Its process id.

    Raises:
        OSError: This machine lacks the resources for it.
    """

    def __init__(
        self, environment: Mapping[str, str], *, python: str = sys.executable, imports: str | None = None
    ) -> None:
        self.mark = new_mark()
        self._python = python
        self._imports = imports
        self._environment = {**_foreign(environment), **self.mark}
        self._folder = Path.cwd()
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [python, "-m", "qtj_trainer.fork_server", launch.__file__, imports or "", "-" * _ROOM],
                env={**self._environment, "QTJ_FORK_SERVER_ROOM": "-" * _ROOM},
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._has_ended = False
        self._loading: asyncio.Task[None] | None = None

    def suits(self, program: ProcessSpec) -> bool:
        """Returns whether it can fork a program that is as one that starts alone."""
        return (
            not self._has_ended
            and _length(program.command) <= _ROOM
            and _length(f"{name}={program.environment[name]}" for name in _OURS & program.environment.keys()) <= _ROOM
            and program.folder == self._folder
            and {**_foreign(program.environment), **self.mark} == self._environment
            and self._has_loaded_for(program)
        )

    def _has_loaded_for(self, program: ProcessSpec) -> bool:
        if self._imports is None:
            return tuple(program.command[: len(TRAINER)]) == TRAINER
        return program.command[0] == self._python and imports_of(program.command, program.folder) == self._imports

    async def loaded(self) -> None:
        """Waits until it can fork, or has ended."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        await asyncio.shield(self._loading)

    async def _load(self) -> None:
        self._connection.setblocking(False)
        try:
            self._has_ended = not await asyncio.get_running_loop().sock_recv(self._connection, 1)
        except OSError:
            self._has_ended = True
        self._connection.settimeout(_PATIENCE_SECONDS)

    def fork(self, streams: Sequence[int]) -> Child | None:
        """Forks a supervisor, as a child of this process, which is a subreaper. Returns None if the server has ended.

        Args:
            streams: Its descriptors 0, 1 and 2.
        """
        if self._loading is None or not self._loading.done() or self._has_ended:
            return None
        with suppress(OSError):
            socket.send_fds(self._connection, [b"\n"], streams)
            if answer := self._connection.recv(32):
                return Child(int(answer))
        self._has_ended = True
        return None

    def close(self) -> None:
        """Ends it; what it has forked stays."""
        self._has_ended = True
        self._connection.close()
        self._process.kill()
        self._process.wait()


def fork_server_for(jobs: Sequence[Object], *, scripts: bool = False) -> ForkServer | None:
    """Starts a server for the programs of jobs; returns None if none of them can be forked, or none can be started.

    Args:
        jobs: Their manifests. What is wrong with one is for others to report.
        scripts: Whether a user's script has one too: it is worth its start if the script runs often.
    """
    for job in jobs if sys.platform == "linux" else ():
        with suppress(OSError, LookupError, TypeError, ValueError, AttributeError):
            container = main_container(job["spec"]["template"]["spec"]["containers"])
            if job["spec"].get("program"):
                continue
            environment = confined(base_environment(container))
            if is_trainer(container):
                return ForkServer(environment)
            if scripts and (server := _server_of_script(container, environment)):
                return server
    return None


def _server_of_script(container: Object, environment: Mapping[str, str]) -> ForkServer | None:
    """Starts a server for the script of a container, if it runs with this Python and no variables of its own."""
    command: list[str] = [*container["command"], *(container.get("args") or ())]
    python = Path(shutil.which(command[0], path=environment["PATH"]) or command[0]).absolute()
    ours = Path(sys.executable).absolute()
    has_variables = container.get("envFrom") or {each["name"] for each in container.get("env") or ()} - _OURS
    if has_variables or python.parent != ours.parent or not python.samefile(ours):
        return None
    imports = imports_of(command, Path.cwd())
    return None if imports is None else ForkServer(environment, python=str(python), imports=imports)


def _length(words: Iterable[str]) -> int:
    return sum(len(os.fsencode(word)) + 1 for word in words)


def _foreign(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in _OURS}
