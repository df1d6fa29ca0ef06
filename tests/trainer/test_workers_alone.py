"""Workers whose model is in no common strategy train the same thing twice, and are told so."""

import json
import logging

import pytest
import tf_keras

from qtj_trainer.program.keras_model import KerasModel
from qtj_trainer.replicate.cluster import Cluster


def prepared_as(index: int, workers: int) -> None:
    addresses = [f"127.0.0.1:{7000 + number}" for number in range(workers)]
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    KerasModel(model).prepare(Cluster.from_environment({"TF_CONFIG": json.dumps(config)}))


@pytest.mark.parametrize(("index", "workers", "warnings"), [(0, 2, 1), (1, 2, 0), (0, 1, 0)])
def test_the_leader_warns_once(index: int, workers: int, warnings: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "qtj_trainer"):
        prepared_as(index, workers)

    told = [record.getMessage() for record in caplog.records if "trains all of this model alone" in record.getMessage()]
    assert len(told) == warnings
    assert all(text.startswith(f"each of the {workers} workers trains") for text in told)
