"""The place of a `fit` of Keras 2 within an epoch, and how another process gets there again.

Keras has no public way to begin an epoch at a later batch. So the batches that are done are taken from the iterator of
`fit`, whose loop then begins at the number of the next one. That needs data which come in the same order again:

    arrays with shuffle=False           yes
    arrays, shuffled by fit             no: the order is drawn anew
    tf.data                             yes, unless it shuffles without a seed, or is not deterministic
    generators, Sequence                no: they may continue where they are
"""

import inspect
from traceback import walk_stack
from typing import Any

__all__ = ["begin_at", "obstacle", "running_handler"]

_ARRAYS = {"TensorLikeDataAdapter", "GenericArrayLikeDataAdapter", "CompositeTensorDataAdapter"}


def running_handler() -> tuple[Any, Any]:
    """Returns the handler of the data of the `fit` that calls, and its iterator of this epoch; None without them."""
    for frame, _ in walk_stack(inspect.currentframe()):
        handler = frame.f_locals.get("data_handler")
        if frame.f_code.co_name == "fit" and handler is not None:
            return handler, frame.f_locals.get("iterator")
    return None, None


def obstacle(model: Any, handler: Any) -> str:
    """Returns why a `fit` cannot be continued within an epoch; empty if it can.

    Args:
        model: The model of the `fit`.
        handler: The handler of its data; None for a model of Keras 3.
    """
    if handler is None:
        return "only fit of Keras 2 can begin an epoch at a later batch"
    if model.distribute_strategy.num_replicas_in_sync > 1 or type(handler).__name__ != "DataHandler":
        return "several replicas train this model"
    if model.run_eagerly or handler._steps_per_execution.numpy() > 1:  # noqa: SLF001
        return "it runs eagerly, or takes several steps in one call"
    return _obstacle_of_data(handler._adapter, handler._dataset)  # noqa: SLF001


def begin_at(model: Any, handler: Any, iterator: Any, batch: int) -> None:
    """Lets the epoch that begins now begin at a later batch, and creates the variables of the metrics.

    Args:
        model: The model of the `fit`.
        handler: The handler of its data.
        iterator: Its iterator of this epoch.
        batch: The number of batches that are done.
    """
    for _ in range(batch):
        next(iterator)
    handler._initial_step = batch  # noqa: SLF001
    model.train_function.get_concrete_function(iterator)  # traces a step, without running it


def _obstacle_of_data(adapter: Any, data: Any) -> str:
    kind = type(adapter).__name__
    if kind in _ARRAYS:
        shuffles = getattr(adapter, "_shuffle", True)
        return "fit shuffles arrays in an order that is drawn anew: give it shuffle=False" if shuffles else ""
    if kind != "DatasetAdapter":
        return "its data are no arrays and no tf.data.Dataset"
    if not hasattr(data, "options"):  # a DistributedDataset, even of one device
        return "a strategy distributes its data"
    if data.options().deterministic is False or any(map(_is_random, _parts(data))):
        return "its data shuffle without a seed, or are not deterministic"
    return ""


def _parts(data: Any) -> list[Any]:
    """Returns a dataset, and all those from which it takes its elements."""
    return [data, *(part for each in data._inputs() for part in _parts(each))]  # noqa: SLF001


def _is_random(data: Any) -> bool:
    """Whether a dataset has another order in each process."""
    seeds = [getattr(data, name) for name in ("_seed", "_seed2") if hasattr(data, name)]
    unseeded = bool(seeds) and not any(int(seed) for seed in seeds)
    return unseeded or getattr(data, "_deterministic", None) == "false"
