"""An optimizer of Keras' earlier interface is refused in a sentence, before training."""

from typing import Any

import numpy as np
import pytest
import tf_keras

from qtj_trainer.errors import UserError
from qtj_trainer.program.keras_model import KerasModel
from qtj_trainer.replicate.cluster import Cluster


@pytest.fixture
def model() -> Any:
    inputs = tf_keras.Input((1,))
    return tf_keras.Model(inputs, tf_keras.layers.Dense(1)(inputs))


def test_a_model_with_a_legacy_optimizer_is_refused(model: Any) -> None:
    model.compile(tf_keras.optimizers.legacy.Adam(), "mse")

    with pytest.raises(UserError) as refused:
        KerasModel(model).prepare(Cluster.from_environment({}))

    assert str(refused.value) == (
        "Adam of tf_keras.src.optimizers.legacy.adam is an optimizer of an earlier interface: use"
        " tf_keras.optimizers.Adam"
    )


def test_a_model_with_an_optimizer_of_today_is_prepared(model: Any) -> None:
    model.compile(tf_keras.optimizers.Adam(), "mse")

    prepared = KerasModel(model)
    prepared.prepare(Cluster.from_environment({}))

    variables = [*model.variables, *model.optimizer.variables]
    state = prepared.state()
    assert len(state) >= len(variables) == 5 + 2
    assert all(np.array_equal(value, variable) for value, variable in zip(state, variables, strict=False))
