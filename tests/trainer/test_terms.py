"""Workers train together only where all of them train the same."""

import json
from pathlib import Path

import numpy as np
import pytest

from qtj_trainer.replicate.rendezvous import difference
from tests.trainer.processes import Ended, Trainer
from tools.background import tf_configs


def ended_together(trainer: Trainer, *of_each: tuple[str, ...]) -> list[Ended]:
    """Runs workers with different arguments."""
    configs = tf_configs(worker=len(of_each)).values()
    started = [
        trainer.start("train", *arguments, TF_CONFIG=config) for arguments, config in zip(of_each, configs, strict=True)
    ]
    return [process.end() for process in started]


def test_workers_with_other_data_end_before_they_train(trainer: Trainer, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", angles=random.uniform(-1, 1, (20, 4)), labels=np.arange(20) % 2)
    arguments = ("qcnn", "--epochs", "1", "--artifacts", str(tmp_path / "artifacts"), "--data")

    ended = ended_together(trainer, *((*arguments, str(tmp_path / f"{name}.npz")) for name in ("a", "b")))

    assert [each.code for each in ended] == [1, 1], ended[1].errors
    [message] = {each.error for each in ended}
    assert message.startswith("worker 1 at 127.0.0.1:")
    assert '--data-sha256 "' in message
    assert message.endswith(": give all workers the same arguments and the same data")
    assert not list(tmp_path.glob("artifacts/weights/*"))


def test_workers_with_another_number_of_epochs_end_before_they_train(trainer: Trainer, tmp_path: Path) -> None:
    arguments = ("linear-regression", "--artifacts", str(tmp_path), "--epochs")

    ended = ended_together(trainer, (*arguments, "1"), (*arguments, "2"))

    assert [each.code for each in ended] == [1, 1], ended[1].errors
    assert " has --epochs 2 where the leader has 1: give all workers the same" in ended[0].error


@pytest.mark.parametrize(
    ("leader", "follower", "expected"),
    [
        ({"--seed": 1}, {"--seed": 1}, ""),
        ({"--seed": 1}, json.loads('{"--seed": 1.0}'), "has --seed 1.0 where the leader has 1"),
        ({}, {"--clip-norm": 0.5}, "has --clip-norm 0.5 where the leader has the default"),
        ({"b": "x\n"}, {"b": "y"}, r'has b "y" where the leader has "x\n"'),
    ],
)  # fmt: skip
def test_the_sentence_names_what_differs(leader: dict[str, object], follower: dict[str, object], expected: str) -> None:
    assert difference(leader, follower).partition(":")[0] == expected
