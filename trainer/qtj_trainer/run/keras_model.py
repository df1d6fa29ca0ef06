"""A model of Keras 2 or Keras 3 that a program trains."""

import hashlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.legacy import check_optimizer
from qtj_trainer.run.adapter import REMEDY
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints, State
from qtj_trainer.run.diverged import check_weights
from qtj_trainer.workloads.options import Options

__all__ = ["KerasModel", "Model", "is_keras_model"]

Model = Any
"""A model of Keras 2 or Keras 3. Both have no types."""


def is_keras_model(thing: object) -> bool:
    """Returns whether an object is a Keras model, without importing Keras 2 or Keras 3."""
    loaded = [sys.modules[name] for name in ("tf_keras", "keras") if name in sys.modules]
    return any(isinstance(thing, keras.Model) for keras in loaded)


class KerasModel:
    """A Keras model; after `prepare`, with its optimizer."""

    name = "program"
    suffix = "h5"

    def __init__(self, model: Model) -> None:
        self.model = model
        self._variables = [*model.variables]

    def prepare(self, cluster: Cluster) -> None:
        """Creates the optimizer's variables.

        Raises:
            UserError: If the model cannot be trained here.
        """
        _check(self.model, cluster)
        self.model.optimizer.build(self.model.trainable_variables)
        self._variables += self.model.optimizer.variables

    def fingerprint(self, _: Options) -> str:
        """Returns a digest of the shapes of all variables and of the optimizer's class."""
        structure = [type(self.model.optimizer).__name__, [tuple(variable.shape) for variable in self._variables]]
        return hashlib.sha256(json.dumps(structure).encode()).hexdigest()

    def newest(self, checkpoints: Checkpoints, cluster: Cluster) -> Checkpoint | None:
        """Returns the newest checkpoint, the same in all processes."""
        from qtj_trainer.run.agreement import agree  # noqa: PLC0415

        del cluster  # the model's strategy connects the processes
        newest = checkpoints.newest()
        agree(newest.position.step if newest else 0, self.model.distribute_strategy)
        return newest

    def state(self) -> State:
        """Returns the values of all variables of model and optimizer."""
        return self._values(self._variables)

    def restore(self, state: State) -> None:
        """Restores what `state` returned."""
        for variable, value in zip(self._variables, state, strict=True):
            variable.assign(value)

    def check_finite(self, step: int) -> None:
        """Raises DivergedError if a trained weight is not finite."""
        trained = self.model.trainable_variables
        names = [getattr(each, "path", each.name) for each in trained]  # in Keras 3, only the path has the layer's name
        check_weights(zip(names, self._values(trained), strict=True), step, REMEDY)

    def warn_if_unchanged(self) -> None:
        """Does nothing: `fit` trains this model itself."""

    def dump(self) -> bytes:
        """Encodes the weights as HDF5."""
        from qtj_trainer.weights import dump_weights  # noqa: PLC0415

        return dump_weights(self.model)

    def load(self, data: bytes, *, otherwise: str) -> Model:
        """Puts encoded weights into the model."""
        from qtj_trainer.weights import load_weights  # noqa: PLC0415

        load_weights(self.model, data, otherwise=otherwise)
        return self.model

    def leave_together(self, cluster: Cluster) -> None:
        """Waits until all processes can end."""
        from qtj_trainer.replicate.strategy import leave_together  # noqa: PLC0415

        leave_together(self.model.distribute_strategy, cluster)

    def _values(self, variables: Sequence[Any]) -> list[NDArray[Any]]:
        """Returns the values of variables in this process, without communication."""
        local = self.model.distribute_strategy.experimental_local_results
        return [local(variable)[0].numpy() for variable in variables]


def _check(model: Model, cluster: Cluster) -> None:
    """Raises UserError for a model that cannot be trained here."""
    from qtj_trainer.weights import is_of_keras_2  # noqa: PLC0415

    if getattr(model, "optimizer", None) is None:
        raise UserError("the model has no optimizer: compile it before restore(model)")
    check_optimizer(model.optimizer)
    if is_of_keras_2(model):
        return
    if not hasattr(model, "distribute_strategy"):
        raise UserError("this Keras 3 does not run on TensorFlow: set KERAS_BACKEND to tensorflow, or use tf_keras")
    if cluster.size > 1 or model.distribute_strategy.num_replicas_in_sync > 1:
        raise UserError("a Keras 3 model trains in one process on one device: build it with tf_keras to train on more")
