"""Training with numbers that are not finite: it fails, reports the step, and changes nothing that is stored."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from qtj_trainer.arrays.metrics import check_number, check_weights
from qtj_trainer.errors import DivergedError
from qtj_trainer.storage import open_store
from qtj_trainer.stored.artifacts import arrays_from_bytes, arrays_to_bytes, store_object
from qtj_trainer.workloads import Arrays
from tests.trainer.processes import Ended, Trainer
from tools.background import tf_configs

SLOWLY = ("train", "linear-regression", "--optimizer", "sgd", "--learning-rate", "1.05", "--batch-size", "800")
"""One step an epoch, each of which makes the loss about fivefold: there are checkpoints before it is infinite."""


def stored(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.rglob(pattern))


def replace_held_out(artifacts: Path, columns: Arrays) -> None:
    """Stores other examples than those of the training, and names them in the record."""
    [record] = stored(artifacts, "weights/*[0-9a-f].json")
    fields = json.loads(record.read_text())
    _, address = store_object(open_store(str(artifacts)), "held-out", "npz", arrays_to_bytes(columns))
    record.write_text(json.dumps(fields | {"heldOut": {"uri": address.uri, "sha256": address.sha256}}))


def step_in(ended: Ended) -> int:
    number = r"^training diverged, the (?:loss|mse on the held-out set) was (?:inf|nan) at step (\d+)"
    matched = re.search(rf"{number}: lower --learning-rate", ended.error)
    assert matched, ended.error
    return int(matched[1])


def test_a_loss_that_is_not_finite_is_a_final_failure_that_names_its_step(trainer: Trainer, tmp_path: Path) -> None:
    ended = trainer.run(
        "train", "linear-regression", "--optimizer", "sgd", "--learning-rate", "10", "--artifacts", str(tmp_path)
    )

    assert (ended.code, len(ended.sentences)) == (1, 1)
    assert 1 < step_in(ended) < 50
    assert ended.error.endswith("which is 10")
    assert not stored(tmp_path, "*.h5")
    assert not stored(tmp_path, "result.json")


def test_the_last_finite_checkpoint_stays(trainer: Trainer, tmp_path: Path) -> None:
    ended = trainer.run(*SLOWLY, "--epochs", "1000", "--artifacts", str(tmp_path))

    kept = [arrays_from_bytes(path.read_bytes()) for path in stored(tmp_path, "*.npz")]
    steps = [json.loads(str(each["about"]))["position"]["step"] for each in kept]
    assert ended.code == 1
    assert steps == [step_in(ended) - 2, step_in(ended) - 1]
    assert all(np.isfinite(numbers).all() for each in kept for name, numbers in each.items() if name != "about")


def test_all_workers_see_it_at_the_same_step_and_none_asks_for_another_run(trainer: Trainer, tmp_path: Path) -> None:
    workers = trainer.run_cluster(2, *SLOWLY, "--epochs", "1000", "--artifacts", str(tmp_path))

    assert [worker.code for worker in workers] == [1, 1]
    assert len({step_in(worker) for worker in workers}) == 1


@pytest.mark.slow
def test_a_coordinator_sees_it_too(trainer: Trainer, tmp_path: Path) -> None:
    configs = tf_configs(chief=1, ps=1, worker=1)
    options = ("--optimizer", "sgd", "--learning-rate", "10", "--artifacts", str(tmp_path))
    chief, *servers = [
        trainer.start("train", "linear-regression", *options, TF_CONFIG=each) for each in configs.values()
    ]

    ended = chief.end()
    for server in servers:
        server.kill()

    assert (ended.code, step_in(ended) > 1) == (1, True)
    assert not stored(tmp_path, "*.h5")


def test_inference_with_a_metric_that_is_not_finite_fails_and_names_it(trainer: Trainer, tmp_path: Path) -> None:
    artifacts = ("--artifacts", str(tmp_path))
    trained = trainer.run("train", "linear-regression", "--noise", "0", "--epochs", "1", *artifacts)
    [examples] = stored(tmp_path, "held-out/*.npz")
    spoilt = dict(arrays_from_bytes(examples.read_bytes()))
    spoilt["label"][3] = np.nan
    replace_held_out(tmp_path, spoilt)

    ended = trainer.run("infer", *artifacts)

    assert trained.code == 0, trained.errors
    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error.startswith("the metric mse is nan, which is not a result")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_named_with_its_step(value: float) -> None:
    with pytest.raises(DivergedError, match=f"the loss was {value} at step 12: sleep"):
        check_number("loss", value, 12, "sleep")


def test_finite_numbers_pass() -> None:
    check_number("loss", 3e38, 12, "sleep")
    check_weights([("a", np.array([3e38, -3e38], np.float32)), ("b", np.zeros((0, 2)))], 12, "sleep")


def test_a_weight_that_is_not_finite_is_named() -> None:
    weights = [("first", np.ones(2)), ("second", np.array([[1.0, -np.inf], [np.nan, 0.0]]))]

    with pytest.raises(DivergedError, match="a weight of second was -inf after step 7: sleep"):
        check_weights(weights, 7, "sleep")
