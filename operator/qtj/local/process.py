"""Containers as processes: each under a supervisor, which ends everything that it starts, also with this process.

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
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from qtj.local import launch
from qtj.local.container import ProcessSpec, not_started
from qtj.local.fork_server import MARK, Child, ForkServer, new_mark
from qtj.local.launch import request

__all__ = ["Process", "Started", "Supervisors", "start_supervisor"]

Started = subprocess.Popen[bytes] | Child
"""A supervisor as a child of this process."""

_COMMAND = (sys.executable, "-I", "-S", str(Path(launch.__file__)))
_PERIOD_SECONDS = 0.01


_P = TypeVar("_P")
_TAIL = 4096
"""Bytes of a program's last output that are kept, in case it writes no termination message."""
_DRAIN_SECONDS = 2.0


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


class Process:
    """One running program, under its supervisor.

    Attributes:
        pid: Its process id.
    """

    def __init__(
        self,
        supervisors: Supervisors,
        supervisor: Started,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        output: "_Output",
    ) -> None:
        self.pid = 0
        self._supervisors = supervisors
        self._supervisor = supervisor
        self._reader, self._writer = streams
        self._output = output

    @classmethod
    async def start(
        cls, program: ProcessSpec, log: Callable[[bytes], None], supervisors: Supervisors, scratch: Path | None = None
    ) -> "Process":
        """Starts a program.

        Args:
            program: What to run.
            log: Called with its output.
            supervisors: Starts its supervisor.
            scratch: A folder that is removed if this process is killed before the program has ended.

        Raises:
            CannotStartError: It does not run on this machine.
            OSError: This machine lacks the resources for it.
        """
        starting = asyncio.create_task(cls._start(program, log, supervisors, scratch))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:  # nothing waits for it any more, so it must not keep running
            with suppress(Exception):
                process = await starting
                process.kill()
                await process.wait()
            raise

    @classmethod
    async def _start(
        cls, program: ProcessSpec, log: Callable[[bytes], None], supervisors: Supervisors, scratch: Path | None
    ) -> "Process":
        environment = {**program.environment, **supervisors.mark}
        message = request(str(scratch or ""), str(program.folder), program.command, environment)
        reading, writing = os.pipe()
        try:
            ours, supervisor = _supervised(supervisors, program, writing)
            streams = await asyncio.open_connection(sock=ours)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        output = await _Output.of(reading, log)
        process = cls(supervisors, supervisor, streams, output)
        try:
            process.pid = await process._send(message)
        except BaseException:
            output.close()
            raise
        if process.pid < 0:
            await process._ended()
            output.close()
            raise not_started(program.command[0], -process.pid)
        supervisors.started(supervisor, process.pid)
        return process

    @property
    def tail(self) -> str:
        """The end of its output."""
        return self._output.tail.decode(errors="replace")

    async def wait(self) -> int:
        """Waits for its end and returns its exit code, 128 + n when signal n ended it; then nothing of it is left."""
        code = await self._ended()
        await self._output.end()
        return code

    def terminate(self) -> None:
        """Sends SIGTERM to its main process only, as a kubelet does: the supervisor passes it on."""
        self._supervisor.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Makes the supervisor kill it and everything that it has started."""
        if not self._writer.is_closing():
            self._writer.write(b"k")

    async def _send(self, message: bytes) -> int:
        """Sends the request; returns the program's process id, or minus the error number that prevented its start.

        Raises:
            OSError: The supervisor was killed before it answered.
        """
        self._writer.write(message)
        answer = await self._reader.readline()
        if not answer:
            code = await self._ended()
            raise OSError(f"its supervisor ended with exit code {code} before it could start: try again")
        return int(answer)

    async def _ended(self) -> int:
        """Waits for the end of the supervisor and returns its exit code."""
        with suppress(OSError):
            await self._reader.read()
        code = await self._supervisors.end(self._supervisor)
        self._writer.close()
        return code


def _supervised(supervisors: Supervisors, program: ProcessSpec, output: int) -> tuple[socket.socket, Started]:
    """Starts the supervisor of a program, and returns the connection to it."""
    ours, forked = _connected(lambda theirs: supervisors.fork(program, theirs, output))
    if forked:
        return ours, forked
    ours.close()  # a supervisor that was forked too late sees this, and ends
    return _connected(lambda theirs: supervisors.start(theirs, output))


def _connected(start: Callable[[socket.socket], _P]) -> tuple[socket.socket, _P]:
    """Starts a process with one end of a connection, and returns the other end."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            return ours, start(theirs)
        except BaseException:
            ours.close()
            raise


class _Output(asyncio.Protocol):
    """Reads the output of a program, even if the log cannot be written: a full disk must not stop the program."""

    def __init__(self, log: Callable[[bytes], None]) -> None:
        self.tail = b""
        self._log = log
        self._ended = asyncio.Event()

    @classmethod
    async def of(cls, descriptor: int, log: Callable[[bytes], None]) -> "_Output":
        output = cls(log)
        pipe = os.fdopen(descriptor, "rb", 0)
        output._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, pipe)
        return output

    _transport: asyncio.ReadTransport

    def data_received(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_TAIL:]
        self._log(data)

    def connection_lost(self, _problem: Exception | None) -> None:
        self._ended.set()

    async def end(self) -> None:
        """Waits for the rest; a process that could not be killed may keep the pipe open for ever."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _DRAIN_SECONDS)
        self.close()

    def close(self) -> None:
        """Stops reading."""
        self._transport.close()
