"""`python -m bench.scale.soak`: two thousand jobs in waves, with an operator that is killed in the middle of some.

Every job must end, and an operator that has forgotten all of a wave must hold no more memory than after its first.
"""

import argparse
import asyncio
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.scale.api import Api, connected, until, watched
from bench.scale.control_plane import ADMIN, ControlPlane, control_plane
from bench.scale.guard import run
from bench.scale.measure import LIMIT, Size, empty
from bench.scale.process import Running, resident_mib, started
from bench.scale.subjects import ALL, is_finished, prepare
from tools.cluster.tools import KUBERNETES, KWOK, build

_OURS = ALL["ours"]
_KNOWN = ("qtj_jobs{", "qtj_queue_depth")
"""Metrics of what an operator remembers."""
_GROWTH = 1.1
"""How much more memory than after its first wave an operator may hold."""
_LIVES = 4
"""Waves of each operator; it is killed in the middle of the last."""


def main(words: Sequence[str]) -> int:
    """Runs all waves; returns 1 when something was lost or left."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale.soak", description="Two thousand jobs in waves.")
    parser.add_argument("--waves", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=100, help="in each wave (default: 100)")
    options = parser.parse_args(words)
    for group in (KUBERNETES, KWOK):
        build(group)
    with TemporaryDirectory(prefix="qtj-soak-") as folder, control_plane(Path(folder)) as plane:
        prepare(plane, [_OURS])
        problems = run(plane, _waves(plane, options.waves, Size(options.jobs, 1)))
    print("\n".join([*problems, f"soak: {options.waves * options.jobs} jobs, {len(problems)} problems"]))
    return 1 if problems else 0


async def _waves(plane: ControlPlane, waves: int, size: Size) -> list[str]:
    problems: list[str] = []
    async with connected(plane.url, ADMIN) as api:
        for first in range(0, waves, _LIVES):
            held: list[float] = []
            async with AsyncExitStack() as life:
                process = await life.enter_async_context(started(plane, _OURS, looked_at=False))
                for wave in range(first, min(first + _LIVES, waves) - 1):
                    await _wave(api, wave, size)
                    problems += _left(process, wave)
                    held.append(resident_mib(process.pid))
                last = asyncio.create_task(_wave(api, min(first + _LIVES, waves) - 1, size))
                await asyncio.sleep(1)
                process.kill()
            async with started(plane, _OURS, looked_at=False):
                await last
            print(f"waves {first} to {first + _LIVES - 1}: {' '.join(f'{each:.0f}' for each in held)} MiB", flush=True)
            if held and max(held[1:], default=0) > _GROWTH * held[0]:
                problems.append(f"memory after the waves from {first} on: {held}")
    return problems


async def _wave(api: Api, wave: int, size: Size) -> None:
    """Creates jobs, waits until each has ended, and deletes them."""
    async with watched(api, _OURS.api, _OURS.plural, is_finished) as ended, asyncio.timeout(LIMIT):
        jobs = (_OURS.job(f"wave-{wave}-{index}", size.workers, finish=True) for index in range(size.jobs))
        await api.create_all((_OURS.api, _OURS.plural, job) for job in jobs)
        await ended.reached(size.jobs)
        await api.delete_all(_OURS.api, _OURS.plural)
        await empty(api)

        async def forgotten() -> bool:
            return await api.count(_OURS.api, _OURS.plural) == 0

        await until(forgotten)
    await asyncio.sleep(1)


def _left(process: Running, wave: int) -> list[str]:
    """Returns what the operator still knows of, by its metrics."""
    known = ((name, value) for name, value in _metrics(process.port).items() if name.startswith(_KNOWN))
    return [f"after wave {wave}: {name} is {value:g}" for name, value in known if value]


def _metrics(port: int) -> Mapping[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
