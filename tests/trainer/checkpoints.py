"""Checkpoints of a small model, and what they are stored for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qtj_trainer.storage import Store
from qtj_trainer.stored.checkpoints import Checkpoints
from qtj_trainer.stored.position import Epoch, Gradient, Position
from qtj_trainer.workloads.options import Options

OPTIONS = Options(epochs=10)
STATE = (np.arange(6, dtype=np.float32).reshape(2, 3), np.array(7))
JOB = "uid-1"
FOLDER = f"checkpoints/{JOB}"
NUMBERS = (np.arange(3.0),)


class Model:
    """As much of a workload as a checkpoint is told by."""

    name = "model"

    def __init__(self, structure: str = "dense") -> None:
        self._structure = structure

    def fingerprint(self, _: Options) -> str:
        return self._structure


def checkpoints(store: Store, uid: str = JOB, *, model: Model | None = None, options: Options = OPTIONS) -> Checkpoints:
    return Checkpoints(store, uid, model or Model(), options)


def made_of(store: Store, uid: str = JOB, **options: Any) -> Checkpoints:
    """Checkpoints of the model with some other options."""
    return checkpoints(store, uid, options=Options(**{"epochs": 10, **options}))


def steps(names: Sequence[str]) -> list[int]:
    """Returns the steps of checkpoints, by their names."""
    return [int(name.rpartition("/")[2].partition("-")[0]) for name in names]


def after(number: int) -> Position:
    """The position after an epoch of three steps."""
    gradients = {"angles": Gradient(mean=0.1, variance=0.2)}
    scores = {"mse": 0.1 + number}
    last = Epoch(number, 3 * number, loss=1 / number, scores=scores, examples_per_second=3.5, gradients=gradients)
    return Position(3 * number, last)


def save(store: Store, *numbers: int, uid: str = JOB) -> list[Path]:
    """Stores checkpoints after these epochs and returns their files, the newest last."""
    saved = checkpoints(store, uid)
    names = [saved.save(after(number), STATE) for number in numbers]
    return [Path(store.uri(name).removeprefix("file://")) for name in names]
