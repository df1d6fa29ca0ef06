"""Variables of a Keras 2 model that `fit` uses again, and that neither `model.variables` nor `optimizer.variables` has.

They are in the graph of objects that `tf.train.Checkpoint` stores, such as learning rate and loss scale. Or they are
the state of a random generator, of a layer such as Dropout or of the whole program. Or they are the states of a
recurrent layer with `stateful=True`, which Keras leaves out of that graph.

Below are the variables that each replica of a strategy changes for itself, such as the moving means of
BatchNormalization. To read one of them, all replicas exchange their values. So all processes read the same variables at
the same time.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

__all__ = ["hidden_draws", "more_variables", "other_optimizers", "put", "read_together", "separate", "trained_by"]

_RATES = ("rate", "stddev", "dropout", "recurrent_dropout")
"""Attributes of layers with random values; a layer whose attributes are all 0 draws none."""


def more_variables(model: Any, known: Iterable[Any]) -> dict[str, Any]:
    """Returns the variables of a model and its optimizer by their paths, without known ones.

    Args:
        model: A compiled model of Keras 2.
        known: Variables to leave out.
    """
    seen = {id(each) for each in known}
    found = dict(_below(model, "", seen))
    for index, generator in enumerate(_generators(model)):
        found |= _below(generator, f"generator-{index}", seen)
    return found | _states(model)


def other_optimizers(model: Any) -> list[Any]:
    """Returns the optimizers of a model besides that of `compile`, such as those of a GAN."""
    kind = tf_keras.optimizers.Optimizer
    return [each for each in _parts(model) if isinstance(each, kind) and each is not model.optimizer]


def trained_by(optimizer: Any, variables: Sequence[Any]) -> list[int]:
    """Returns the numbers of the variables for which an optimizer keeps values, in its order.

    Nothing if it keeps none yet, or also for others.
    """
    index = getattr(optimizer, "_index_dict", {})
    numbers = [number for number, each in enumerate(variables) if each.trainable] if index else []
    keys = {optimizer._var_key(variables[number]): number for number in numbers}  # noqa: SLF001  not public
    places = {index[key]: number for key, number in keys.items() if key in index}
    return [places[place] for place in sorted(places)] if len(places) == len(index) else []


def hidden_draws(model: Any) -> list[str]:
    """Returns the names of the layers whose random values come from operations that hide their state."""
    return [layer.name for layer in _parts(model) if _draws(layer) and not _generator_of(layer)]


def _below(root: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yields the variables of an object graph that were not seen before, with their paths."""
    for name, child in tf.train.TrackableView.children(root).items():
        if id(child) in seen:
            continue
        seen.add(id(child))
        place = f"{path}/{name}" if path else name
        if isinstance(child, tf.Variable):
            yield place, child
        else:
            yield from _below(child, place, seen)


def _states(model: Any) -> dict[str, tf.Variable]:
    """Returns the states of recurrent layers that keep them from one batch to the next."""
    layers = [each for each in _parts(model) if getattr(each, "stateful", False) and hasattr(each, "states")]
    return {
        f"states-{index}/{place}": state
        for index, layer in enumerate(layers)
        for place, state in enumerate(tf.nest.flatten(layer.states))
        if isinstance(state, tf.Variable)
    }


def _parts(model: Any) -> list[Any]:
    """Returns a model and everything in it, such as layers within layers, in an order that a restart repeats.

    Without variables: to ask one of several workers for an attribute that it does not have is to read it together.
    """
    return [each for each in tf.train.TrackableView(model).descendants() if not isinstance(each, tf.Variable)]


def _generators(model: Any) -> Iterator[tf.random.Generator]:
    """Yields the generators of the layers, in the order of the layers, and that of the program if it has used one."""
    for layer in _parts(model):
        if generator := _generator_of(layer):
            yield generator
    # tf.random.get_global_generator() would create one.
    if generator := getattr(sys.modules.get("tensorflow.python.ops.stateful_random_ops"), "global_generator", None):
        yield generator


def _generator_of(layer: Any) -> tf.random.Generator | None:
    generator = getattr(getattr(layer, "_random_generator", None), "_generator", None)
    return generator if isinstance(generator, tf.random.Generator) else None


def _draws(layer: Any) -> bool:
    if not hasattr(layer, "_random_generator"):
        return False
    rates = [getattr(layer, name) for name in _RATES if hasattr(layer, name)]
    return any(rates) or not rates


def separate(variables: Mapping[str, Any], strategy: tf.distribute.Strategy) -> dict[str, Any]:
    """Returns those variables of which each replica has its own value."""
    if strategy.num_replicas_in_sync == 1:
        return {}
    on_read = tf.VariableSynchronization.ON_READ
    return {name: each for name, each in variables.items() if each.synchronization == on_read}


def read_together(variables: Mapping[str, Any], strategy: tf.distribute.Strategy) -> dict[str, NDArray[Any]]:
    """Returns the values of all replicas, in the order of the replicas. All processes have to call it.

    Args:
        variables: Variables of which each replica has its own value; the same in all processes.
        strategy: Their strategy.

    Returns:
        For each variable, an array of shape (replicas, *shape of the variable).
    """
    if not variables:
        return {}
    gathered = tf.function(lambda: strategy.run(lambda: _gathered(variables)), autograph=False)()
    local = strategy.experimental_local_results
    return {
        name: local(rows)[0].numpy().astype(variables[name].dtype.as_numpy_dtype) for name, rows in gathered.items()
    }


def put(variable: Any, rows: NDArray[Any], strategy: tf.distribute.Strategy) -> None:
    """Gives each replica its value. With another number of replicas, all get what a read of the variable returned.

    Args:
        variable: The variable, which may have one value for all replicas now.
        rows: What `read_together` returned.
        strategy: The strategy of the variable.
    """
    if not separate({"": variable}, strategy) or len(rows) != strategy.num_replicas_in_sync:
        variable.assign(_aggregated(rows, variable.aggregation))
        return
    values = tf.constant(rows)
    tf.function(lambda: strategy.run(lambda: variable.assign(values[_replica()])), autograph=False)()


def _gathered(variables: Mapping[str, Any]) -> dict[str, tf.Tensor]:
    gather = tf.distribute.get_replica_context().all_gather
    return {name: gather(_carried(tf.convert_to_tensor(each))[None], axis=0) for name, each in variables.items()}


def _carried(value: tf.Tensor) -> tf.Tensor:
    """Returns a value in a type that processes can exchange."""
    return value if value.dtype.is_floating else tf.cast(value, tf.int64)


def _replica() -> tf.Tensor:
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def _aggregated(rows: NDArray[Any], aggregation: tf.VariableAggregation) -> NDArray[Any]:
    """Returns what TensorFlow returns for a variable outside of the replicas."""
    match tf.VariableAggregation(aggregation.value):
        case tf.VariableAggregation.MEAN:
            return np.asarray(rows.mean(axis=0), rows.dtype)
        case tf.VariableAggregation.SUM:
            return np.asarray(rows.sum(axis=0), rows.dtype)
    return np.asarray(rows[0])
