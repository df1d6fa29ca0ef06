"""Variables that each replica of a strategy changes for itself, such as the moving means of BatchNormalization.

To read one of them, all replicas exchange their values. So all processes read the same variables at the same time.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

__all__ = ["put", "read_together", "separate"]

Variable = Any
"""A variable of TensorFlow under a strategy."""


def separate(variables: Mapping[str, Variable], strategy: tf.distribute.Strategy) -> dict[str, Variable]:
    """Returns those variables of which each replica has its own value."""
    if strategy.num_replicas_in_sync == 1:
        return {}
    on_read = tf.VariableSynchronization.ON_READ
    return {name: each for name, each in variables.items() if each.synchronization == on_read}


def read_together(variables: Mapping[str, Variable], strategy: tf.distribute.Strategy) -> dict[str, NDArray[Any]]:
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


def put(variable: Variable, rows: NDArray[Any], strategy: tf.distribute.Strategy) -> None:
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


def _gathered(variables: Mapping[str, Variable]) -> dict[str, tf.Tensor]:
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
