"""The supervisors that this process starts: one for each program, and nothing of theirs outlives this process.

Who dies, and what then ends the programs and all that they have started:

    a program                  its supervisor (launch.py) kills what is left of it
    qtj run, also by SIGKILL   every supervisor sees the end of its socket, and kills
    a supervisor, by SIGKILL   Linux kills its program and gives the rest to qtj run, which kills it

Killed all at once, they leave no program (Linux), but maybe what the programs themselves had started.
"""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from qtj_operator.local import launch

__all__ = ["Supervisors"]

_COMMAND = (sys.executable, "-I", "-S", str(Path(launch.__file__)))
_PERIOD_SECONDS = 0.01


class Supervisors:
    """All of them. Every child of this process is to be started here, or it counts as left by a supervisor."""

    def __init__(self) -> None:
        launch.adopt_orphans()
        self._known = set(self._children())

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

    async def end(self, supervisor: subprocess.Popen[bytes]) -> int:
        """Returns the exit code of a supervisor whose socket has ended; nothing of its program is left then."""
        code = supervisor.wait()  # it is ending already
        self._known.discard(supervisor.pid)
        if code < 0:
            await self._kill_orphans()
        return 128 - code if code < 0 else code

    async def _kill_orphans(self) -> None:
        while orphans := [pid for pid in self._children() if pid not in self._known and launch.kill(pid)]:
            for pid in orphans:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)  # noqa: ASYNC222  does not wait
            await asyncio.sleep(_PERIOD_SECONDS)

    @staticmethod
    def _children() -> list[int]:
        return launch.children_of(os.getpid())
