"""Checkpoints of the first version, which knew no held-out loss and no best epoch."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from qtj_trainer.storage import Store
from qtj_trainer.stored.artifacts import arrays_to_bytes
from qtj_trainer.stored.checkpoints import Checkpoints
from qtj_trainer.stored.position import Epoch, Gradient, Position
from qtj_trainer.workloads.options import Options

LAST = {
    "number": 3, "step": 9, "loss": 0.5, "scores": {"mse": 0.25}, "examples_per_second": 80.0,
    "gradients": {"angles": {"mean": 0.1, "variance": 0.2}},
}  # fmt: skip
TRAINING = ["model", {"batch_size": 16, "learning_rate": 0.02, "optimizer": "adam", "seed": 0}, "dense"]


class Model:
    """The part of a workload that checkpoints need."""

    name = "model"

    def fingerprint(self, _: Options) -> str:
        return "dense"


def store_position(store: Store, position: dict[str, Any]) -> None:
    """Stores a checkpoint as the first version did."""
    training = hashlib.sha256(json.dumps(TRAINING, sort_keys=True).encode()).hexdigest()
    about = np.array(json.dumps({"training": training, "position": position}))
    data = arrays_to_bytes({"about": about, "0": np.arange(3.0)})
    store.write(f"checkpoints/uid-1/{position['step']:09d}-{hashlib.sha256(data).hexdigest()[:12]}.npz", data)


def newest(store: Store, options: Options | None = None) -> Position | None:
    found = Checkpoints(store, "uid-1", Model(), options or Options()).newest()
    return found.position if found else None


def test_one_after_an_epoch_is_resumed_from(store: Store) -> None:
    store_position(store, {"step": 9, "last": LAST, "sums": []})

    gradients = {"angles": Gradient(mean=0.1, variance=0.2)}
    last = Epoch(3, 9, 0.5, {"mse": 0.25}, 80.0, gradients, validation_loss=None, training_scores={})
    assert newest(store) == Position(9, last, (), None)


def test_one_within_an_epoch_is_passed_over_for_the_epoch_before(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store_position(store, {"step": 9, "last": LAST, "sums": []})
    store_position(store, {"step": 11, "last": LAST, "sums": [0.5, 0.1, 0.2]})

    found = newest(store)

    assert found is not None
    assert found.step == 9
    assert "is of another version of the trainer" in caplog.text


def test_it_is_of_another_training_than_one_with_early_stopping(store: Store) -> None:
    store_position(store, {"step": 9, "last": LAST, "sums": []})

    assert newest(store, Options(patience=3)) is None
