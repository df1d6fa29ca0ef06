"""A program's training in this process: real checkpoints and a real replica, and mistakes that are raised."""

import atexit
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from qtj_trainer.arrays.tree import State
from qtj_trainer.program.array_state import ArrayState
from qtj_trainer.program.epochs import RunningEpoch, running_epochs
from qtj_trainer.program.program_training import ProgramTraining
from qtj_trainer.workloads.options import Options
from tools.resume.session import InProcess

__all__ = ["Desk", "steps_of", "train"]


class Desk:
    """The folder of one job.

    Attributes:
        folder: Its artifacts.
    """

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        self.folder = folder
        self._cleanup = cleanup

    def training(self, state: State, *, epochs: int = 3, environment: Any = None, **options: Any) -> ProgramTraining:
        """Begins or resumes a training, as a process does."""
        session = InProcess(self.folder, {"QTJ_JOB_UID": "uid-1", **(environment or {})})
        training = ProgramTraining(session, ArrayState(state), Options(epochs=epochs, **options))
        self._cleanup.callback(atexit.unregister, training.warn_if_unfinished)
        return training

    def epochs(self, state: State, **options: Any) -> Iterator[RunningEpoch]:
        """Yields the epochs that are left to a program."""
        return running_epochs(self.training(state, **options))

    @property
    def stored(self) -> list[int]:
        """The steps of the stored checkpoints."""
        return [int(path.name.partition("-")[0]) for path in sorted(self.folder.glob("checkpoints/uid-1/*"))]


def steps_of(epoch: RunningEpoch, items: Any = 3, loss: float | None = 0.5) -> list[Any]:
    """Trains an epoch, and returns the items of its steps."""
    done = []
    for item in epoch.steps(items):
        epoch.step(loss=loss)
        done.append(item)
    return done


def train(epochs: Iterable[RunningEpoch], items: Any, each: Callable[[RunningEpoch, Any], object]) -> None:
    """Trains epochs, with a call in each of their steps."""
    for epoch in epochs:
        for item in epoch.steps(items):
            each(epoch, item)
