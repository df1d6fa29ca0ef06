"""Lets one replica train alone for some seconds, to find out how long a step takes on this machine."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from qtj.local.addresses import HOST, PortLease
from qtj.local.http import get
from qtj.local.process import Process
from qtj.local.program import CannotStartError, Configs, Program, program_of
from qtj.local.supervisors import Supervisors
from qtj_contract import PROGRESS_PATH, Env, Progress, printable
from qtj_operator.controller.client import Object
from qtj_operator.core.last_words import last_words

__all__ = ["LIMIT_SECONDS", "Pace", "calibrate"]

LIMIT_SECONDS = 90.0
"""How long all of it may take, the start of the program included."""

_STEPPING_SECONDS = 5.0
"""How long steps are counted after the first."""
_PERIOD_SECONDS = 0.05
_WORDS = 500
"""Characters of its last words that are told of a program that has ended."""
_NOT_ALONE = {str(Env.TF_CONFIG), str(Env.PROFILER_PORT)}


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one process trains.

    Attributes:
        step_seconds: Time of one optimizer step.
        steps: Steps in an epoch; None when none has ended.
        epochs: Epochs asked for.
    """

    step_seconds: float
    steps: int | None
    epochs: int


def calibrate(pod: Object, configs: Configs) -> Pace:
    """Trains for some seconds.

    Args:
        pod: A replica of the job.
        configs: ConfigMaps and Secrets that it refers to.

    Raises:
        CannotStartError: It does not run here, or ends before it has trained.
        TimeoutError: It makes no step.
    """
    try:
        with TemporaryDirectory(prefix="qtj-plan-", ignore_cleanup_errors=True) as folder:
            return asyncio.run(_calibrate(pod, configs, Path(folder)))
    except TimeoutError:
        raise
    except OSError as problem:
        raise CannotStartError("StartError", str(problem)) from None


async def _calibrate(pod: Object, configs: Configs, folder: Path) -> Pace:
    lease = PortLease()
    try:
        port = lease.take()
        process = await Process.start(_alone(pod, configs, folder, port), lambda _: None, Supervisors(), folder)
        end = asyncio.create_task(process.wait())
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                pace = await _watched(port, end)
        finally:
            process.kill()
            await end
    finally:
        lease.close()
    if pace is None:
        last = " ".join(last_words(printable(process.tail)).split())[:_WORDS]
        raise CannotStartError("Error", f"the program ended before it was measured; its last words: {last}")
    return pace


def _alone(pod: Object, configs: Configs, folder: Path, port: int) -> Program:
    replaced = {
        str(Env.ARTIFACTS_URI): folder.as_uri(),
        str(Env.METRICS_PORT): str(port),
        str(Env.TERMINATION_LOG): str(folder / "termination-log"),
    }
    program = program_of(pod, configs=configs, replaced=replaced)
    environment = {name: value for name, value in program.environment.items() if name not in _NOT_ALONE}
    return Program(command=program.command, environment=environment, folder=folder)


async def _watched(port: int, end: asyncio.Task[int]) -> Pace | None:
    """Measures steps after the first, which builds the graph; None when the program ends too soon.

    An epoch has as many steps as were done when its end is first seen: the last epoch at least was seen whole.
    """
    begin: tuple[float, int] | None = None
    pace: Pace | None = None
    while not end.done():
        said, now = await _ask(port), time.monotonic()
        if said and said.step:
            begin = begin or (now, said.step)
            if said.step > begin[1]:
                pace = Pace((now - begin[0]) / (said.step - begin[1]), _steps_of_an_epoch(said), said.epochs or 0)
            if now - begin[0] > _STEPPING_SECONDS:
                return pace
        await asyncio.sleep(_PERIOD_SECONDS)
    return pace


def _steps_of_an_epoch(said: Progress) -> int | None:
    """Returns the steps of an epoch: as told, or near enough after some epochs."""
    if said.steps and said.epochs:
        return said.steps // said.epochs
    return said.step // said.epoch if said.step and said.epoch else None


async def _ask(port: int) -> Progress | None:
    try:
        answer = await get(f"http://{HOST}:{port}{PROGRESS_PATH}", 1.0)
    except OSError:
        return None
    return Progress.parse(answer.body.decode(errors="replace"))
