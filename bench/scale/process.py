"""An operator's process: how it is started, what it costs, and how fast it answers its health check."""

import asyncio
import os
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.scale.api import until
from bench.scale.control_plane import ControlPlane
from bench.scale.subjects import Operator
from tools.background import free_port, process_running

if TYPE_CHECKING:
    import subprocess

_LIMIT, _SETTLE = 120.0, 3.0
_BEAT = 0.02
"""Seconds between two looks at an operator's health."""


@dataclass(frozen=True)
class Running:
    """An operator's process.

    Attributes:
        process: The process.
        port: Where it answers for its health.
        checks: How long its health checks have taken, in seconds.
    """

    process: "subprocess.Popen[bytes]"
    port: int
    checks: list[float] = field(default_factory=list)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self.process.pid

    def slowest(self) -> float:
        """Returns how long the longest health check took."""
        return max(self.checks, default=0.0)

    def kill(self) -> None:
        """Ends it as a crash does."""
        self.process.kill()


@asynccontextmanager
async def started(plane: ControlPlane, subject: Operator, *, looked_at: bool = True) -> AsyncIterator[Running]:
    """Starts an operator, waits until it works, and stops it when the context ends.

    Args:
        plane: Where it works.
        subject: Which it is.
        looked_at: Whether its health is asked for all the time, which costs it something, and its end is an error.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}{subject.health}"
    with process_running(subject.command(plane, port), plane.folder / f"{subject.name}.log") as process:
        running = Running(process, port)
        async with asyncio.timeout(_LIMIT):
            await until(lambda: _answers(url))
        await asyncio.sleep(_SETTLE)
        if not looked_at:
            yield running
            return
        plane.processes[subject.name] = process
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(_look(url, running.checks))
            yield running
            task.cancel()
        del plane.processes[subject.name]


async def _look(url: str, checks: list[float]) -> None:
    while True:
        begin = time.monotonic()
        await _answers(url)
        checks.append(time.monotonic() - begin)
        await asyncio.sleep(_BEAT)


async def _answers(url: str) -> bool:
    def ask() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    return await asyncio.to_thread(ask)


def cpu_seconds(pid: int) -> float:
    """Returns how long a program has used a processor, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int) -> float:
    """Returns the most memory that a program has held, in MiB."""
    return _memory(pid, "VmHWM:")


def resident_mib(pid: int) -> float:
    """Returns the memory that a program holds, in MiB."""
    return _memory(pid, "VmRSS:")


def _memory(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
