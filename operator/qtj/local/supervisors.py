"""The supervisors that this process starts: one for each program, so that nothing outlives this process.

If one of these processes ends, the rest is ended as follows:

    a program                  its supervisor (launch.py) kills what is left of it
    qtj run, also by SIGKILL   every supervisor sees the end of its socket, and kills
    a supervisor, by SIGKILL   Linux kills its program, and makes the rest children of qtj run, which kills them

If all are killed at once, no program is left (Linux), but processes that the programs have started may be.

Not every such child belongs to the run: a shell that was replaced by qtj run may have had jobs in the background, whose
children lose their parents too. Without such jobs, every child is killed. With them, only those are killed that have
the mark of this run in their environment, or that are in the session of a program whose supervisor was killed.
"""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from qtj.local import launch
from qtj.local.fork_server import MARK, Child, ForkServer, new_mark
from qtj.local.program import ProcessSpec

__all__ = ["Started", "Supervisors", "start_supervisor"]

Started = subprocess.Popen[bytes] | Child
"""A supervisor as a child of this process."""

_COMMAND = (sys.executable, "-I", "-S", str(Path(launch.__file__)))
_PERIOD_SECONDS = 0.01


def start_supervisor(control: socket.socket, output: int) -> subprocess.Popen[bytes]:
    """Starts a supervisor.

    Args:
        control: Its end of the socket over which it gets its request. It kills its program when the other end closes.
        output: The descriptor to which its program writes.

    Raises:
        OSError: This machine lacks the resources for it.
    """
    return subprocess.Popen(_COMMAND, stdin=control.fileno(), stdout=output, stderr=output, start_new_session=True)


class Supervisors:
    """All supervisors. Every child of this process must be started here; another child counts as left by a supervisor.

    Args:
        server: Forks the supervisors of trainers, if there is one.

    Attributes:
        mark: A variable for the environment of each program, which marks it and everything that it starts.
    """

    def __init__(self, server: ForkServer | None = None) -> None:
        self.mark = server.mark if server else new_mark()
        self._server = server
        ours = {server.pid} if server else set()
        self._is_alone = ours.issuperset(self._children())  # before it adopts any: no other can appear later
        launch.adopt_orphans()
        self._started = set(self._children())
        self._sessions: dict[int, int] = {}

    async def prepare(self, program: ProcessSpec) -> None:
        """Waits until a program can be forked, if that is possible at all."""
        if self._server and self._server.suits(program):
            await self._server.loaded()

    def fork(self, program: ProcessSpec, control: socket.socket, output: int) -> Child | None:
        """Starts the supervisor of a program by a fork; returns None if this program has to start alone."""
        if self._server is None or not self._server.suits(program):
            return None
        supervisor = self._server.fork([control.fileno(), output, output])
        if supervisor:
            self._started.add(supervisor.pid)
        return supervisor

    def start(self, control: socket.socket, output: int) -> subprocess.Popen[bytes]:
        """Starts a supervisor, see `start_supervisor`."""
        supervisor = start_supervisor(control, output)
        self._started.add(supervisor.pid)
        return supervisor

    def started(self, supervisor: Started, program: int) -> None:
        """Records the process of a program, which leads its own session."""
        self._sessions[supervisor.pid] = program

    async def end(self, supervisor: Started) -> int:
        """Returns the exit code of a supervisor whose socket has ended; then nothing of its program is left."""
        code = supervisor.wait()  # it is ending already
        self._started.discard(supervisor.pid)
        if code < 0:
            await self._kill_orphans()
        self._sessions.pop(supervisor.pid, None)
        return 128 - code if code < 0 else code

    async def _kill_orphans(self) -> None:
        while orphans := [pid for pid in self._children() if self._is_ours(pid) and launch.kill(pid)]:
            for pid in orphans:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)  # noqa: ASYNC222  does not wait
            await asyncio.sleep(_PERIOD_SECONDS)

    def _is_ours(self, child: int) -> bool:
        """Tells whether a child of this process was left by a supervisor."""
        if child in self._started:
            return False
        if self._is_alone:
            return True
        with suppress(OSError):
            if os.getsid(child) in self._sessions.values():
                return True
            variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            return f"{MARK}={self.mark[MARK]}".encode() in variables
        return False

    @staticmethod
    def _children() -> list[int]:
        return launch.children_of(os.getpid())
