"""A model of Keras 2 or Keras 3 that a program trains.

Its state in a checkpoint, as a list of arrays:

    variables           of the model and the optimizer, one array each; checkpoints of the first versions end here
    a description       of a tree in JSON, and the names of the arrays of that tree
    the arrays          of that tree: other variables, values of each replica, and what other callbacks keep
"""

import hashlib
import json
import logging
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.arrays.metrics import check_weights
from qtj_trainer.arrays.tree import describe, rebuild
from qtj_trainer.errors import UserError
from qtj_trainer.program.adapter import REMEDY
from qtj_trainer.program.keras_siblings import Siblings, States
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.legacy import check_optimizer
from qtj_trainer.stored.checkpoints import Checkpoint, Checkpoints, State
from qtj_trainer.workloads.options import Options

__all__ = ["KerasModel", "Model", "check_backend", "is_keras_model"]

Model = Any
"""A model of Keras 2 or Keras 3. Both have no types."""

_ANEW = "not restored, so these begin anew"
_VISIBLE_DRAWS = "call tf.keras.backend.experimental.enable_tf_random_generator() before you create layers"
_DATA = (
    "the order of shuffled data, unless the program calls iter(data) once for each finished epoch before fit;"
    " with steps_per_epoch, data begin at their first example"
)

_EACH_ALONE = (
    "each of the %d workers trains all of this model alone: create it in the scope of"
    " tf.distribute.MultiWorkerMirroredStrategy() so that they share the steps, or take one worker"
)

log = logging.getLogger("qtj_trainer")


def is_keras_model(thing: object) -> bool:
    """Returns whether an object is a Keras model, without importing Keras 2 or Keras 3."""
    loaded = [sys.modules[name] for name in ("tf_keras", "keras") if name in sys.modules]
    return any(isinstance(thing, keras.Model) for keras in loaded)


def check_backend(model: Model) -> None:
    """Raises UserError for a Keras 3 model on JAX or PyTorch. It imports no TensorFlow, which may not be installed."""
    if not hasattr(model, "distribute_strategy"):
        raise UserError("this Keras 3 does not run on TensorFlow: set KERAS_BACKEND to tensorflow, or use tf_keras")


class KerasModel:
    """A Keras model; after `prepare`, with its optimizer.

    A program may compile its model again for a later `fit`, after `restore`. So what the checkpoint has is kept until
    the `fit` that was interrupted begins: its optimizer and its callbacks get it then.

    Attributes:
        siblings: The other callbacks of `fit`.
        is_within_epoch: Whether `state` is that of a position within an epoch.
        fit_epochs: The last epoch of the `fit` that runs.
    """

    name = "program"
    suffix = "h5"

    def __init__(self, model: Model) -> None:
        self.model = model
        self.siblings = Siblings()
        self.fit_epochs = 0
        self._of_model = [*model.variables]
        self._prepared: Any = None
        """The optimizer that was restored before `fit`."""
        self._structure: list[Any] = []
        self._stored: _Stored | None = None
        self._is_coordinated = False
        self._of_replicas: dict[str, NDArray[Any]] = {}
        self.stored_metrics: list[NDArray[Any]] = []
        """The sums of an epoch that the checkpoint has begun, until `fit` takes them."""
        self.is_within_epoch = False

    def prepare(self, cluster: Cluster) -> None:
        """Creates the optimizer's variables.

        Raises:
            UserError: If the model cannot be trained here.
        """
        _check(self.model, cluster)
        self._is_coordinated = cluster.is_coordinated
        if cluster.size > 1 and cluster.leads and self._trains_alone:
            log.warning(_EACH_ALONE, cluster.size)
        self._prepared = self.model.optimizer
        self._prepared.build(self.model.trainable_variables)
        self._structure = [type(self._prepared).__name__, [tuple(variable.shape) for variable in self._variables]]

    @property
    def _variables(self) -> list[Any]:
        """The variables of the model, and those of the optimizer that it has now."""
        return [*self._of_model, *self.model.optimizer.variables]

    @property
    def _trains_alone(self) -> bool:
        """Whether no strategy shares the steps of this model with other processes."""
        return not self._is_coordinated and self.model.distribute_strategy.num_replicas_in_sync == 1

    def fingerprint(self, _: Options) -> str:
        """Returns a digest of the shapes of all variables and of the optimizer's class, as they were in `prepare`."""
        return hashlib.sha256(json.dumps(self._structure).encode()).hexdigest()

    def newest(self, checkpoints: Checkpoints, cluster: Cluster) -> Checkpoint | None:
        """Returns the newest checkpoint, the same in all processes."""
        from qtj_trainer.replicate.strategy import agree

        del cluster  # the model's strategy connects the processes
        newest = checkpoints.newest()
        agree(newest.position.step if newest else 0, self.model.distribute_strategy)
        return newest

    def read_together(self) -> None:
        """Reads for `state` the variables of which each replica has its own value. All processes have to call it."""
        if not self._is_coordinated and self.model.distribute_strategy.num_replicas_in_sync > 1:
            from qtj_trainer.program.keras_variables import read_together, separate

            strategy = self.model.distribute_strategy
            self._of_replicas = read_together(separate(self._named(), strategy), strategy)

    def state(self) -> State:
        """Returns the values of all variables, and what other callbacks keep; see above."""
        named = self._named()
        more = dict(zip(named, self._values(named.values()), strict=True))
        values = [more.pop(str(index)) for index in range(len(self._variables))]
        tree = {
            "variables": more,
            "replicas": self._of_replicas,
            "callbacks": self.siblings.state(),
            "fit": self.fit_epochs,
            "optimizers": self._trained_by_others(),
        }
        if self.is_within_epoch:
            tree["metrics"] = self._values(self._metrics())
        description, arrays = describe(tree)
        return [*values, np.array(json.dumps({"tree": description, "arrays": [*arrays]})), *arrays.values()]

    def restore(self, state: State) -> None:
        """Restores what `state` returned; what is not here yet waits for `fit`."""
        self._stored = _decoded(state)
        self._put_stored(self._stored)
        self.stored_metrics = self._stored.metrics
        self._warn_of_hidden()

    def resume_fit(self, finished: int) -> None:
        """Gives the first `fit` after a restart what has waited for it: its optimizer, callbacks and their variables.

        If the `fit` of the checkpoint had ended and the model is compiled again since, this is another `fit`, which
        begins with its own optimizer and callbacks.

        Args:
            finished: The epochs of the checkpoint.
        """
        stored, self._stored = self._stored, None
        if stored is None:
            return
        if stored.fit_epochs > finished or self.model.optimizer is self._prepared:
            self.model.optimizer.build(self.model.trainable_variables)
            self._put_stored(stored)
            self.siblings.take(stored.callbacks)
        if stored.lost:
            log.warning("%s: %s", _ANEW, "; ".join(f"the variable {name}" for name in stored.lost))

    def take_metrics(self) -> None:
        """Puts the sums of an epoch that has begun into the metrics, whose variables exist by now."""
        variables = self._metrics()
        if [each.shape for each in self.stored_metrics] == [tuple(each.shape) for each in variables]:
            for variable, value in zip(variables, self.stored_metrics, strict=True):
                variable.assign(value)
        self.stored_metrics = []

    def _metrics(self) -> list[Any]:
        return [variable for metric in self.model.metrics for variable in metric.variables]

    def check_finite(self, step: int) -> None:
        """Raises DivergedError if a trained weight is not finite."""
        trained = self.model.trainable_variables
        names = [getattr(each, "path", each.name) for each in trained]  # in Keras 3, only the path has the layer's name
        check_weights(zip(names, self._values(trained), strict=True), step, REMEDY)

    def warn_if_unchanged(self) -> None:
        """Does nothing: `fit` trains this model itself."""

    def dump(self) -> bytes:
        """Encodes the weights as HDF5."""
        from qtj_trainer.weights import dump_weights

        return dump_weights(self.model)

    def load(self, data: bytes, *, otherwise: str) -> Model:
        """Puts encoded weights into the model."""
        from qtj_trainer.weights import load_weights

        load_weights(self.model, data, otherwise=otherwise)
        return self.model

    def leave_together(self, cluster: Cluster) -> None:
        """Waits until all processes can end."""
        from qtj_trainer.replicate.strategy import leave_together

        leave_together(self.model.distribute_strategy, cluster)

    def _named(self) -> dict[str, Any]:
        """Returns all variables: those of the first versions' checkpoints by their number, others by their path."""
        named = {str(index): each for index, each in enumerate(self._variables)}
        if self._is_of_keras_2:
            from qtj_trainer.program.keras_variables import more_variables

            named |= more_variables(self.model, self._variables)
        held = self.siblings.variables()
        known = {id(each) for each in named.values()}
        return named | {name: each for name, each in held.items() if id(each) not in known}

    def _put_stored(self, stored: "_Stored") -> None:
        """Puts stored values into the variables that fit them, unless an earlier call has."""
        self._build_others(stored.optimizers)
        fitting = {name: each for name, each in self._named().items() if stored.fits(name, each)}
        for name, variable in fitting.items():
            if id(variable) not in stored.restored:
                self._put(variable, stored.values[name], stored.replicas.get(name))
                stored.restored[id(variable)] = variable
        stored.lost = [name for name in stored.values if name not in fitting]

    def _trained_by_others(self) -> list[list[int]]:
        """Returns for each optimizer besides that of `compile`, as of a GAN, the numbers of the variables it trains."""
        if not self._is_of_keras_2:
            return []
        from qtj_trainer.program.keras_variables import other_optimizers, trained_by

        return [trained_by(each, self._of_model) for each in other_optimizers(self.model)]

    def _build_others(self, trained: Sequence[Sequence[int]]) -> None:
        """Creates the variables of optimizers that are used in the first step, which is too late to restore them."""
        if not self._is_of_keras_2:
            return
        from qtj_trainer.program.keras_variables import other_optimizers

        for optimizer, numbers in zip(other_optimizers(self.model), trained, strict=False):
            if numbers and len(self._of_model) > max(numbers):
                optimizer.build([self._of_model[number] for number in numbers])

    @property
    def _is_of_keras_2(self) -> bool:
        from qtj_trainer.weights import is_of_keras_2

        return is_of_keras_2(self.model)

    def _warn_of_hidden(self) -> None:
        """Logs once what cannot be restored."""
        layers = ", ".join(self._hidden_draws())
        draws = [f"the random values of {layers} ({_VISIBLE_DRAWS})"] if layers else []
        log.warning("%s: %s", _ANEW, "; ".join([*draws, _DATA]))

    def _hidden_draws(self) -> list[str]:
        if not self._is_of_keras_2:
            return []
        from qtj_trainer.program.keras_variables import hidden_draws

        return hidden_draws(self.model)

    def _put(self, variable: Any, value: NDArray[Any], rows: NDArray[Any] | None) -> None:
        if rows is None:
            variable.assign(value)
            return
        from qtj_trainer.program.keras_variables import put

        put(variable, rows, self.model.distribute_strategy)

    def _values(self, variables: Iterable[Any]) -> list[NDArray[Any]]:
        """Returns the values of variables in this process, without communication."""
        local = self.model.distribute_strategy.experimental_local_results
        return [local(variable)[0].numpy() for variable in variables]


@dataclass
class _Stored:
    """What a checkpoint has.

    Attributes:
        values: Of variables, by the names that `KerasModel._named` gives them.
        replicas: The values of each replica, by these names.
        callbacks: Attributes of the other callbacks.
        optimizers: See `KerasModel._trained_by_others`.
        fit_epochs: The last epoch of the `fit` that stored it; 0 if an earlier version stored it.
        metrics: The sums of an epoch that has begun.
        restored: The variables that have their values, by their identity.
        lost: Names for which nothing was there.
    """

    values: dict[str, NDArray[Any]]
    replicas: dict[str, NDArray[Any]] = field(default_factory=dict)
    callbacks: States = field(default_factory=dict)
    optimizers: list[list[int]] = field(default_factory=list)
    fit_epochs: int = 0
    metrics: list[NDArray[Any]] = field(default_factory=list)
    restored: dict[int, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def fits(self, name: str, variable: Any) -> bool:
        """Whether it has a value of the shape of a variable."""
        return name in self.values and variable.shape == self.values[name].shape


def _decoded(state: Sequence[NDArray[Any]]) -> _Stored:
    """Decodes what `KerasModel.state` returned; checkpoints of the first versions have the numbered variables alone."""
    count = next((index for index, each in enumerate(state) if each.dtype.kind == "U"), len(state))
    numbered = {str(index): value for index, value in enumerate(state[:count])}
    if count == len(state):
        return _Stored(numbered)
    header = json.loads(str(state[count]))
    tree: dict[str, Any] = rebuild(header["tree"], dict(zip(header["arrays"], state[count + 1 :], strict=True)))
    return _Stored(
        numbered | tree["variables"],
        tree["replicas"],
        tree["callbacks"],
        tree.get("optimizers", []),
        tree.get("fit", 0),
        tree.get("metrics", []),
    )


def _check(model: Model, cluster: Cluster) -> None:
    """Raises UserError for a model that cannot be trained here."""
    check_backend(model)
    from qtj_trainer.weights import is_of_keras_2

    if getattr(model, "optimizer", None) is None:
        raise UserError("the model has no optimizer: compile it before restore(model)")
    check_optimizer(model.optimizer)
    if is_of_keras_2(model):
        return
    if cluster.size > 1 or model.distribute_strategy.num_replicas_in_sync > 1:
        raise UserError("a Keras 3 model trains in one process on one device: build it with tf_keras to train on more")
