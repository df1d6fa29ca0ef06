"""Trains one replica alone for some seconds, to measure how long a step takes on this machine."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from qtj.local.addresses import HOST, PortLease
from qtj.local.http import get
from qtj.local.process import Process
from qtj.local.program import CannotStartError, Configs, ProcessSpec, program_of
from qtj.local.supervisors import Supervisors
from qtj_contract import PROGRESS_PATH, Env, Progress, printable
from qtj_operator.controller.client import Object
from qtj_operator.core.end_message import end_message

__all__ = ["LIMIT_SECONDS", "TrainingSpeed", "calibrate"]

LIMIT_SECONDS = 90.0
"""How long the measurement may take, including the start of the program."""

_STEPPING_SECONDS = 5.0
"""How long steps are counted after the first."""
_PERIOD_SECONDS = 0.05
_MAX_CHARACTERS = 500
"""Characters shown of the last output of a program that has ended."""
_NOT_ALONE = {str(Env.TF_CONFIG), str(Env.PROFILER_PORT)}


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """How fast one process trains.

    Attributes:
        step_seconds: Time of one optimizer step.
        steps: Steps in an epoch; None if none has ended.
        epochs: Epochs of the whole training.
    """

    step_seconds: float
    steps: int | None
    epochs: int


def calibrate(pod: Object, configs: Configs) -> TrainingSpeed:
    """Trains for some seconds.

    Args:
        pod: A replica of the job.
        configs: ConfigMaps and Secrets that the pod refers to.

    Raises:
        CannotStartError: It does not run here, or ends before it has trained.
        TimeoutError: It finishes no step in time.
    """
    try:
        with TemporaryDirectory(prefix="qtj-plan-", ignore_cleanup_errors=True) as folder:
            return asyncio.run(_calibrate(pod, configs, Path(folder)))
    except TimeoutError:
        raise
    except OSError as problem:
        raise CannotStartError("StartError", str(problem)) from None


async def _calibrate(pod: Object, configs: Configs, folder: Path) -> TrainingSpeed:
    lease = PortLease()
    try:
        port = lease.take()
        process = await Process.start(_alone(pod, configs, folder, port), lambda _: None, Supervisors(), folder)
        end = asyncio.create_task(process.wait())
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                speed = await _measured(port, end)
        finally:
            process.kill()
            await end
    finally:
        lease.close()
    if speed is None:
        last = " ".join(end_message(printable(process.tail)).split())[:_MAX_CHARACTERS]
        raise CannotStartError("Error", f"the program ended before it was measured: {last}")
    return speed


def _alone(pod: Object, configs: Configs, folder: Path, port: int) -> ProcessSpec:
    replaced = {
        str(Env.ARTIFACTS_URI): folder.as_uri(),
        str(Env.METRICS_PORT): str(port),
        str(Env.TERMINATION_LOG): str(folder / "termination-log"),
    }
    program = program_of(pod, configs=configs, replaced=replaced)
    environment = {name: value for name, value in program.environment.items() if name not in _NOT_ALONE}
    return ProcessSpec(command=program.command, environment=environment, folder=folder)


async def _measured(port: int, end: asyncio.Task[int]) -> TrainingSpeed | None:
    """Measures steps after the first, which builds the graph; returns None if the program ends too soon."""
    begin: tuple[float, int] | None = None
    speed: TrainingSpeed | None = None
    while not end.done():
        progress, now = await _ask(port), time.monotonic()
        if progress and progress.step:
            begin = begin or (now, progress.step)
            if progress.step > begin[1]:
                speed = TrainingSpeed(
                    (now - begin[0]) / (progress.step - begin[1]), _steps_of_an_epoch(progress), progress.epochs or 0
                )
            if now - begin[0] > _STEPPING_SECONDS:
                return speed
        await asyncio.sleep(_PERIOD_SECONDS)
    return speed


def _steps_of_an_epoch(progress: Progress) -> int | None:
    """Returns the steps of an epoch: as reported, or estimated from finished epochs."""
    if progress.steps and progress.epochs:
        return progress.steps // progress.epochs
    return progress.step // progress.epoch if progress.step and progress.epoch else None


async def _ask(port: int) -> Progress | None:
    try:
        answer = await get(f"http://{HOST}:{port}{PROGRESS_PATH}", 1.0)
    except OSError:
        return None
    return Progress.parse(answer.body.decode(errors="replace"))
