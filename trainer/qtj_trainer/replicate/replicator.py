"""The replicator: see `qtj_trainer.replicate`."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

import qtj_contract as contract
from qtj_trainer.errors import TrainerError, UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.strategy import farewell, peers_watched, start_tensorflow

import tensorflow as tf  # isort: skip  without the lines it always prints, thanks to the import above
import tf_keras  # isort: skip

from qtj_trainer.replicate.primitives import all_reduce  # isort: skip

__all__ = ["Input", "Replicator"]


@dataclass(frozen=True, slots=True)
class Input:
    """For whom an input function makes data.

    Attributes:
        replica: Which replica, from 0.
        replicas: How many there are.
    """

    replica: int
    replicas: int


class _Averaging:
    """An optimizer whose gradients are averaged over the replicas."""

    def __init__(self, optimizer: tf_keras.optimizers.Optimizer) -> None:
        self._optimizer = optimizer

    @property
    def variables(self) -> list[tf.Variable]:
        """What the optimizer remembers, once it is built: part of what a checkpoint has to hold."""
        return list(self._optimizer.variables)

    def build(self, variables: Iterable[tf.Variable]) -> None:
        """Makes what the optimizer remembers of each variable. To be called where the variables are made."""
        self._optimizer.build(list(variables))

    def apply_gradients(self, gradients: Iterable[tuple[tf.Tensor, tf.Variable]]) -> None:
        """Averages the gradients over all replicas and takes a step, the same on each. To be called in a step."""
        averaged = [(all_reduce(gradient, "mean"), variable) for gradient, variable in gradients]
        self._optimizer.apply_gradients(averaged, skip_gradients_aggregation=True)


class Replicator:
    """Runs a step function on every replica that the environment offers.

    That is OneDevice, Mirrored, MultiWorkerMirrored or TPU: see `qtj_trainer.replicate.strategy`. To be made before
    TensorFlow is used.

    Attributes:
        cluster: The processes that train together.
    """

    def __init__(self, *, devices: int | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Waits until all processes have come.

        Args:
            devices: Devices of this process that take part; None reads QTJ_DEVICES, and 0 takes all GPUs or the
                processor.
            environment: The environment; None for that of this process.

        Raises:
            UserError: If the environment is none that can train.
        """
        # No default of the signature: help() prints those, secrets and all.
        environment = os.environ if environment is None else environment
        self.cluster = Cluster.from_environment(environment)
        if self.cluster.is_coordinated:
            raise UserError("a replicator's replicas take each step together: use no parameter servers")
        count = int(environment.get("QTJ_DEVICES") or 0) if devices is None else devices
        self._graphs: dict[Callable[[Any], Any], Callable[[Any], Any]] = {}
        port = environment.get(contract.Env.PROFILER_PORT)
        self._strategy, _ = start_tensorflow(self.cluster, devices=count, profiler_port=int(port) if port else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> None:
        """Lets all processes leave together; a failure of a peer ends this one so that all are run again."""
        try:
            if problem is None:
                farewell(self._strategy, self.cluster)
        except TrainerError as late:
            problem = late
        if isinstance(problem, TrainerError):
            print(f"error: {problem}", file=sys.stderr, flush=True)  # noqa: T201  the program's last word
            os._exit(problem.exit_code)

    @property
    def replicas(self) -> int:
        """Number of replicas, those of other processes included."""
        return int(self._strategy.num_replicas_in_sync)

    def scope(self) -> AbstractContextManager[Any]:
        """Variables made in this context are the same on every replica."""
        scope: AbstractContextManager[Any] = self._strategy.scope()
        return scope

    def wrap_optimizer(self, optimizer: tf_keras.optimizers.Optimizer) -> _Averaging:
        """Returns an optimizer that averages gradients over the replicas. To be called in `scope`."""
        return _Averaging(optimizer)

    def run(
        self,
        step_fn: Callable[[Any], Any],
        input_fn: Callable[[Input], tf.data.Dataset],
        steps: int,
    ) -> Iterator[Any]:
        """Runs a step on every replica, again and again.

        Args:
            step_fn: Takes what one replica's dataset gives next; becomes a graph.
            input_fn: Makes the dataset of one replica, with as many elements as there are steps.
            steps: How many steps.

        Yields:
            What `step_fn` returned on this process' first replica.

        Raises:
            TryAgainError: If another process died.
        """
        inputs = iter(self._strategy.distribute_datasets_from_function(lambda context: _local(input_fn, context)))
        step = self._compiled(step_fn)
        for _ in range(steps):
            with peers_watched(self.cluster):
                results = step(inputs)
            yield tf.nest.map_structure(lambda each: self._strategy.experimental_local_results(each)[0], results)

    def _compiled(self, step_fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Returns the graph of a step, the same one in each epoch: it takes seconds to make."""
        if step_fn not in self._graphs:
            run = self._strategy.run
            self._graphs[step_fn] = tf.function(lambda inputs: run(step_fn, args=(next(inputs),)))
        return self._graphs[step_fn]


def _local(input_fn: Callable[[Input], tf.data.Dataset], context: tf.distribute.InputContext) -> tf.data.Dataset:
    """Returns the elements of this process' replicas, in turn."""
    replicas = context.num_replicas_in_sync
    count = replicas // context.num_input_pipelines
    first = context.input_pipeline_id * count
    each = [input_fn(Input(replica, replicas)) for replica in range(first, first + count)]
    return each[0] if count == 1 else tf.data.Dataset.choose_from_datasets(each, tf.data.Dataset.range(count).repeat())
