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
from qtj_trainer.replicate.legacy import check_optimizer
from qtj_trainer.replicate.strategy import leave_together, peers_watched, start_tensorflow

import tensorflow as tf  # isort: skip  after the import above, which hides the lines that TensorFlow prints
import tf_keras  # isort: skip

from qtj_trainer.replicate.primitives import all_reduce  # isort: skip

__all__ = ["Input", "Replicator"]


@dataclass(frozen=True, slots=True)
class Input:
    """The replica for which an input function makes a dataset.

    Attributes:
        replica: Index of the replica, from 0.
        replicas: Number of replicas.
    """

    replica: int
    replicas: int


class _Averaging:
    """An optimizer whose gradients are averaged over the replicas."""

    def __init__(self, optimizer: tf_keras.optimizers.Optimizer) -> None:
        self._optimizer = optimizer

    @property
    def variables(self) -> list[tf.Variable]:
        """The optimizer's variables, once it is built. A checkpoint must hold them."""
        return list(self._optimizer.variables)

    def build(self, variables: Iterable[tf.Variable]) -> None:
        """Creates the optimizer's variables. Call it where the trained variables are created."""
        self._optimizer.build(list(variables))

    def apply_gradients(self, gradients: Iterable[tuple[tf.Tensor, tf.Variable]]) -> None:
        """Averages the gradients over all replicas and applies them, the same on each. Call it in a step.

        A gradient of None changes nothing, as in Keras. It must be None on every replica.
        """
        averaged = [
            (None if gradient is None else all_reduce(gradient, "mean"), variable) for gradient, variable in gradients
        ]
        with tf.name_scope("optimizer"):
            self._optimizer.apply_gradients(averaged, skip_gradients_aggregation=True)


class Replicator:
    """Runs a step function on every replica that the environment offers.

    The strategy is OneDevice, Mirrored, MultiWorkerMirrored or TPU: see `qtj_trainer.replicate.strategy`. Create the
    replicator before TensorFlow is used.

    Attributes:
        cluster: The processes that train together.
    """

    def __init__(self, *, devices: int | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Waits until all processes have met.

        Args:
            devices: Devices of this process that take part; None reads QTJ_DEVICES, and 0 takes all GPUs or the
                processor.
            environment: The environment; None for that of this process.

        Raises:
            UserError: If the environment is invalid.
        """
        # The signature has no default, because help() prints defaults, and the environment may have secrets.
        environment = os.environ if environment is None else environment
        self.cluster = Cluster.from_environment(environment)
        if self.cluster.is_coordinated:
            raise UserError("a replicator's replicas take each step together: remove the parameter servers")
        count = int(environment.get("QTJ_DEVICES") or 0) if devices is None else devices
        self._graphs: dict[Callable[[Any], Any], Callable[[Any], Any]] = {}
        port = environment.get(contract.Env.PROFILER_PORT)
        self._strategy, _ = start_tensorflow(self.cluster, devices=count, profiler_port=int(port) if port else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> None:
        """Waits until all processes can end. If a peer has failed, this process asks for a restart of all."""
        try:
            if problem is None:
                leave_together(self._strategy, self.cluster)
        except TrainerError as late:
            problem = late
        if isinstance(problem, TrainerError):
            print(f"error: {problem}", file=sys.stderr, flush=True)  # noqa: T201  the program's last message
            os._exit(problem.exit_code)

    @property
    def replicas(self) -> int:
        """Number of replicas in all processes."""
        return int(self._strategy.num_replicas_in_sync)

    def scope(self) -> AbstractContextManager[Any]:
        """Returns a context. Variables that are created in it are the same on every replica."""
        scope: AbstractContextManager[Any] = self._strategy.scope()
        return scope

    def wrap_optimizer(self, optimizer: tf_keras.optimizers.Optimizer) -> _Averaging:
        """Returns an optimizer that averages gradients over the replicas. Call it in `scope`.

        Raises:
            UserError: If it is one of `tf.keras.optimizers.legacy`.
        """
        check_optimizer(optimizer)
        return _Averaging(optimizer)

    def run(
        self,
        step_fn: Callable[[Any], Any],
        input_fn: Callable[[Input], tf.data.Dataset],
        steps: int,
    ) -> Iterator[Any]:
        """Runs steps on every replica.

        Args:
            step_fn: Takes the next element of one replica's dataset. It is compiled to a graph.
            input_fn: Makes the dataset of one replica, with at least `steps` elements.
            steps: Number of steps.

        Yields:
            What `step_fn` returned on the first replica of this process.

        Raises:
            TryAgainError: If another process was lost.
        """
        inputs = iter(self._strategy.distribute_datasets_from_function(lambda context: _local(input_fn, context)))
        step = self._compiled(step_fn)
        for _ in range(steps):
            with peers_watched(self.cluster):
                results = step(inputs)
            yield tf.nest.map_structure(lambda each: self._strategy.experimental_local_results(each)[0], results)

    def _compiled(self, step_fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Returns the graph of a step. It takes seconds to build, so each call of `run` uses the same one."""
        if step_fn not in self._graphs:
            run = self._strategy.run
            self._graphs[step_fn] = tf.function(lambda inputs: run(step_fn, args=(next(inputs),)))
        return self._graphs[step_fn]


def _local(input_fn: Callable[[Input], tf.data.Dataset], context: tf.distribute.InputContext) -> tf.data.Dataset:
    """Returns the elements for the replicas of this process, in turn."""
    replicas = context.num_replicas_in_sync
    count = replicas // context.num_input_pipelines
    first = context.input_pipeline_id * count
    each = [input_fn(Input(replica, replicas)) for replica in range(first, first + count)]
    return each[0] if count == 1 else tf.data.Dataset.choose_from_datasets(each, tf.data.Dataset.range(count).repeat())
