"""Containers as processes: each in a session of its own, and none outlives the process that started it.

Whoever dies, the programs die:

    the program's main process    the rest of its process group is killed
    qtj run, also by SIGKILL      Linux kills the main processes (launch.py), the guard all process groups (guard.py)
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from qtj_operator.local.program import Program

__all__ = ["Guard", "Process"]

_HERE = Path(__file__).parent
_BARE_PYTHON = (sys.executable, "-I", "-S")
_TAIL = 4096
"""Bytes of a program's last output that are kept, for a program that leaves no other message."""
_DRAIN_SECONDS = 2.0


class Guard:
    """The process that kills what is left when this one is gone.

    Args:
        folder: A folder of files that it then removes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folders = [str(folder)] if folder else []
        self._process = subprocess.Popen(  # noqa: S603
            [*_BARE_PYTHON, str(_HERE / "guard.py"), *folders], stdin=subprocess.PIPE, start_new_session=True, text=True
        )

    def watch(self, group: int) -> None:
        """Says that a process group has begun."""
        self._say(f"+{group}")

    def forget(self, group: int) -> None:
        """Says that a process group has ended."""
        self._say(f"-{group}")

    def close(self) -> None:
        """Ends the guard, and with it what it watches still."""
        assert self._process.stdin  # noqa: S101
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin  # noqa: S101
        with suppress(OSError):  # somebody killed it; the main processes are still bound to this one
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


class Process:
    """One running program.

    Attributes:
        tail: The last of what it wrote.
    """

    def __init__(self, process: asyncio.subprocess.Process, guard: Guard, output: "_Output") -> None:
        self._process = process
        self._guard = guard
        self._output = output

    @classmethod
    async def start(cls, program: Program, log: Callable[[bytes], None], guard: Guard) -> "Process":
        """Starts a program.

        Args:
            program: What to run.
            log: Takes what it writes.
            guard: Watches over its process group.
        """
        reading, writing = os.pipe()
        try:
            launch = (*_BARE_PYTHON, str(_HERE / "launch.py"), str(os.getpid()))
            process = await asyncio.create_subprocess_exec(
                *launch,
                *program.command,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=dict(program.environment),
                cwd=program.folder,
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        guard.watch(process.pid)
        return cls(process, guard, await _Output.of(reading, log))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def tail(self) -> str:
        """The last of what it wrote."""
        return self._output.tail.decode(errors="replace")

    async def wait(self) -> int:
        """Waits for its end and returns its exit code, 128 + n when signal n ended it; nothing of it is left then."""
        code = await self._process.wait()
        self.kill()
        self._guard.forget(self.pid)
        await self._output.end()
        return 128 - code if code < 0 else code

    def terminate(self) -> None:
        """Asks it to end: as a kubelet does, its main process alone."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it and every process of its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


class _Output(asyncio.Protocol):
    """Reads what a program writes, whatever becomes of the log: a full disk must not stop the program."""

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
        """Waits for the rest; a process that left its group may hold the pipe open for ever."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _DRAIN_SECONDS)
        self._transport.close()
