"""The supervisors that this process starts: one for each program, and nothing of theirs outlives this process.

Who dies, and what then ends the programs and all that they have started:

    a program                  its supervisor (launch.py) kills what is left of it
    qtj run, also by SIGKILL   every supervisor sees the end of its socket, and kills
    a supervisor, by SIGKILL   Linux kills its program and gives the rest to qtj run, which kills it

Killed all at once, they leave no program (Linux), but maybe what the programs themselves had started.

What Linux gives to qtj run need not be ours: a shell that became qtj run may have had jobs in the background, and their
children lose their parents too. Where there was no such job, all is ours. Where there was one, only that is killed
which has the mark of this run in its environment, or is in the session of a program whose supervisor was killed.
"""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from qtj.local import launch

__all__ = ["Supervisors"]

_COMMAND = (sys.executable, "-I", "-S", str(Path(launch.__file__)))
_PERIOD_SECONDS = 0.01
_MARK = "QTJ_RUN"


class Supervisors:
    """All of them. Every child of this process is to be started here, or it counts as left by a supervisor.

    Attributes:
        mark: A variable for the environment of each program, by which it and what it starts are known.
    """

    def __init__(self) -> None:
        self.mark = {_MARK: secrets.token_hex(8)}
        self._is_alone = not self._children()  # before it adopts any: so nobody else's can come later
        launch.adopt_orphans()
        self._known = set(self._children())
        self._sessions: dict[int, int] = {}

    def start(self, control: socket.socket, output: int) -> subprocess.Popen[bytes]:
        """Starts one.

        Args:
            control: Its end of the socket by which it is told what to run.
            output: Where its program writes.

        Raises:
            OSError: This machine has no room for it.
        """
        supervisor = subprocess.Popen(  # noqa: S603
            _COMMAND, stdin=control.fileno(), stdout=output, stderr=output, start_new_session=True
        )
        self._known.add(supervisor.pid)
        return supervisor

    def started(self, supervisor: subprocess.Popen[bytes], program: int) -> None:
        """Takes note of the process of a program, which leads a session of its own."""
        self._sessions[supervisor.pid] = program

    async def end(self, supervisor: subprocess.Popen[bytes]) -> int:
        """Returns the exit code of a supervisor whose socket has ended; nothing of its program is left then."""
        code = supervisor.wait()  # it is ending already
        self._known.discard(supervisor.pid)
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
        if child in self._known:
            return False
        if self._is_alone:
            return True
        with suppress(OSError):
            if os.getsid(child) in self._sessions.values():
                return True
            variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            return f"{_MARK}={self.mark[_MARK]}".encode() in variables
        return False

    @staticmethod
    def _children() -> list[int]:
        return launch.children_of(os.getpid())
