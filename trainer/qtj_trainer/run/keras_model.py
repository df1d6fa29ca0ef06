"""What `qtj_trainer.run.program` has to know of a Keras model, of Keras 2 or of Keras 3."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.diverged import check_weights
from qtj_trainer.workloads.options import Options

__all__ = [
    "REMEDY",
    "Model",
    "Shapes",
    "agree",
    "check_arguments",
    "check_finite",
    "check_model",
    "values",
    "wait_for_all",
]

Model = Any
"""A model of Keras 2 or Keras 3, neither of which carries types."""

REMEDY = "lower the optimizer's learning rate, or look for such numbers in the data"
"""What helps against training that diverges."""


class Shapes:
    """What a checkpoint of a model is told by: the shapes of its variables."""

    name = "program"

    def __init__(self, model: Model) -> None:
        self._shapes = [tuple(variable.shape) for variable in model.variables]

    def fingerprint(self, _: Options) -> str:
        """Returns a digest of the shapes."""
        return hashlib.sha256(json.dumps(self._shapes).encode()).hexdigest()


def check_finite(model: Model, step: int) -> None:
    """Raises DivergedError if a weight that is trained is not finite."""
    trained = model.trainable_variables
    names = [getattr(each, "path", each.name) for each in trained]  # Keras 3 has the layer in the path alone
    check_weights(zip(names, values(model, trained), strict=True), step, REMEDY)


def values(model: Model, variables: Sequence[Any]) -> list[NDArray[Any]]:
    """Returns what this process holds of variables, without help from others."""
    local = model.distribute_strategy.experimental_local_results
    return [local(variable)[0].numpy() for variable in variables]


def check_arguments(**arguments: int) -> None:
    """Raises UserError unless arguments of `Program` are whole numbers within their bounds."""
    for name, value in arguments.items():
        if not isinstance(value, int):
            raise UserError(f"Program's argument {name} is {value!r}: it must be a whole number")
        if complaint := Options.complaint(name, value):
            raise UserError(f"Program's argument {name} {complaint}")


def check_model(model: Model, cluster: Cluster) -> None:
    """Raises UserError for a model that could not be trained here, before it is."""
    from qtj_trainer.weights import is_of_keras_2  # noqa: PLC0415

    if getattr(model, "optimizer", None) is None:
        raise UserError("the model has no optimizer: compile it before restore(model)")
    if is_of_keras_2(model):
        return
    if not hasattr(model, "distribute_strategy"):
        raise UserError("this Keras 3 does not run on TensorFlow: set KERAS_BACKEND to tensorflow, or use tf_keras")
    if cluster.size > 1 or model.distribute_strategy.num_replicas_in_sync > 1:
        raise UserError("a Keras 3 model trains in one process on one device: build it with tf_keras to train on more")


def wait_for_all(model: Model, cluster: Cluster) -> None:
    """One that left before the leader has stored its result would end the leader too."""
    from qtj_trainer.replicate.strategy import farewell  # noqa: PLC0415

    farewell(model.distribute_strategy, cluster)


def agree(step: int, model: Model) -> None:
    """Raises UserError unless all processes have found the same checkpoint: nobody else would notice."""
    import tensorflow as tf  # noqa: PLC0415

    strategy = model.distribute_strategy
    if strategy.num_replicas_in_sync == 1:
        return
    found = tf.constant([step, step * step], tf.int64)
    mine = tf.function(lambda: strategy.run(lambda: found), autograph=False)
    total, squares = strategy.reduce(tf.distribute.ReduceOp.SUM, mine(), axis=None).numpy()
    if squares * strategy.num_replicas_in_sync != total * total:
        raise UserError("the workers find different checkpoints: put the artifacts where all of them can read them")
