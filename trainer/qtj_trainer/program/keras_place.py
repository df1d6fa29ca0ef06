"""The place of a `fit` of Keras 2 within an epoch, and how another process gets there again.

Keras has no public way to begin an epoch at a later batch. So the batches that are done are taken from the iterator of
`fit`, whose loop then begins at the number of the next one. That needs data which come in the same order again:

    arrays with shuffle=False           yes
    arrays, shuffled by fit             no: the order is drawn anew
    tf.data                             yes, unless it shuffles without a seed, or is not deterministic
    generators, Sequence                no: they may continue where they are
"""

import inspect
import logging
import time
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, Self

from qtj_trainer.errors import UserError
from qtj_trainer.stored.position import Position

if TYPE_CHECKING:
    from qtj_trainer.program.keras_model import KerasModel
    from qtj_trainer.program.program_training import ProgramTraining

__all__ = ["EpochPlace", "obstacle"]

log = logging.getLogger("qtj_trainer")

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


class EpochPlace:
    """Where a `fit` is within an epoch.

    Args:
        training: The training.
        adapter: Its model.
    """

    def __init__(self, training: "ProgramTraining", adapter: "KerasModel") -> None:
        self._training = training
        self._adapter = adapter
        self._since = time.perf_counter()

    @classmethod
    def of(cls, training: "ProgramTraining", adapter: "KerasModel") -> Self | None:
        """Returns the place of the `fit` that calls; None if it can only be continued after an epoch.

        Raises:
            UserError: If a checkpoint is within an epoch, and this `fit` cannot be continued there.
        """
        handler, _ = running_handler()
        why = obstacle(adapter.model, handler)
        if why and not training.start.ends_epoch and training.start.step and training.last is training.start.last:
            raise UserError(
                f"the checkpoint is within epoch {training.start.epochs + 1}, and fit cannot continue there ({why}):"
                " call fit as before, or delete the checkpoint"
            )
        if why and training.checkpoint_steps:
            log.warning("checkpoints are stored at the end of epochs alone: %s", why)
        return None if why else cls(training, adapter)

    def begin_epoch(self) -> int:
        """Begins an epoch; if it is the one of the checkpoint, at its place. Returns the batches that are done."""
        self._since = time.perf_counter()
        training = self._training
        start, last = training.start, training.start.last
        batches = start.step - (last.step if last else 0)
        if not batches or training.last is not last:
            return 0
        handler, iterator = running_handler()
        begin_at(self._adapter.model, handler, iterator, batches)
        self._adapter.take_metrics()
        return batches

    def end_step(self, step: int, *, is_last: bool) -> None:
        """Stores a checkpoint after a step if one is due, or if SIGTERM has arrived: then the process ends.

        Args:
            step: The step.
            is_last: Whether it is the last one of the epoch, which has a checkpoint of its own.
        """
        seconds = time.perf_counter() - self._since
        if is_last:
            self._training.replica.stop.expect(seconds)
            return
        self._adapter.is_within_epoch = True
        self._training.reach(Position(step, self._training.last), seconds)
        self._adapter.is_within_epoch = False
        self._since = time.perf_counter()
