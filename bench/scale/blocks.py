"""How long the longest step of an operator's event loop takes, in which probes and other jobs wait.

As a program, `python -m bench.scale.blocks FILE OPTIONS...` is our operator with a stopwatch. It writes each step of
more than a millisecond into the file. The time is that of the processor, so that it means the same on a busy machine.
"""

import asyncio
import json
import sys
import time
from asyncio import events
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.scale.api import connected, watched
from bench.scale.control_plane import ADMIN, ControlPlane
from bench.scale.measure import LIMIT, Size, empty
from bench.scale.process import started
from bench.scale.subjects import Operator, Ours, is_running

_FILE = "steps.jsonl"
_SHORT = 0.001
"""Seconds of a step that is not written."""


@dataclass
class Block:
    """The longest step of the event loop.

    Attributes:
        size: Of what was created meanwhile, as in `100x4`.
        seconds: Of processor time.
        where: What the loop ran.
    """

    size: str
    seconds: float
    where: str


class _Timed(Ours):
    """This project's operator with a stopwatch."""

    def command(self, plane: ControlPlane, port: int) -> Sequence[str]:
        """Runs this module."""
        *environment, _, _, _, option = super().command(plane, port)
        return *environment, sys.executable, "-m", "bench.scale.blocks", str(plane.folder / _FILE), option


async def blocks(plane: ControlPlane, subject: Operator, size: Size) -> Block:
    """Measures our operator while it starts jobs; what it does before, such as reading certificates, is left out."""
    timed = _Timed(subject.name, subject.user, subject.api, subject.plural)
    async with connected(plane.url, ADMIN) as api, started(plane, timed, looked_at=False):
        begin = time.time()
        async with watched(api, subject.api, subject.plural, is_running) as running, asyncio.timeout(LIMIT):
            jobs = (subject.job(f"job-{index}", size.workers) for index in range(size.jobs))
            await api.create_all((subject.api, subject.plural, each) for each in jobs)
            await running.reached(size.jobs)
        lines = (plane.folder / _FILE).read_text().splitlines()
        steps = [step for step in map(json.loads, lines) if step["time"] >= begin]
        nothing: dict[str, Any] = {"seconds": _SHORT, "where": ""}
        longest = max(steps, key=lambda step: float(step["seconds"]), default=nothing)
        await api.delete_all(subject.api, subject.plural)
        await empty(api)
    return Block(str(size), longest["seconds"], longest["where"])


def _time_steps(file: Path) -> None:
    """Times each step of every event loop of this process from now on."""
    run = events.Handle._run  # noqa: SLF001  the one place through which all steps run
    file.write_text("")

    def timed(handle: events.Handle) -> None:
        begin = time.thread_time()
        run(handle)
        took = time.thread_time() - begin
        if took > _SHORT:
            where = repr(getattr(handle._callback, "__self__", handle))  # type: ignore[attr-defined]  # noqa: SLF001
            with file.open("a") as steps:
                steps.write(json.dumps({"time": time.time(), "seconds": took, "where": where[:300]}) + "\n")

    events.Handle._run = timed  # type: ignore[method-assign,assignment]  # noqa: SLF001


def _main(file: str, *options: str) -> int:
    from qtj_operator.cluster.command import main

    _time_steps(Path(file))
    return main(options, "python -m qtj_operator")


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
