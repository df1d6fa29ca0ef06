"""One training run: check, train, store, report.

Cheap checks are first, before the 11 seconds that TensorFlow needs to start and the hours of training:

    1  the cluster, the store
    2  a result of this job: then nothing is left to do; otherwise the data, the memory, the artifacts, the ports
    3  a checkpoint of this job: then all processes continue from it
    4  training, the same in all processes; the leader stores checkpoints
    5  the leader stores: held-out set, weights, record, and the result last
    6  all processes end together
"""

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from qtj_contract.memory import ReplicaMemory
from qtj_trainer.replica.garbage import none_collected
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.run.evaluate import evaluate
from qtj_trainer.run.training_run import Run, WorkloadTraining, check_memory
from qtj_trainer.stored.artifacts import Result
from qtj_trainer.stored.position import Position
from qtj_trainer.tracer import patch_tracer
from qtj_trainer.workloads import Arrays, Split, Workload
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf

    from qtj_trainer.loop.loop import Loop

__all__ = ["train"]

_POLL = 5.0
"""Seconds between two checks of a server whether the job has its result."""

log = logging.getLogger("qtj_trainer")


def train(
    workload: Workload, options: Options, artifacts: str, environment: Mapping[str, str], stop: Stop | None = None
) -> None:
    """Trains a workload and stores its weights.

    Args:
        workload: What to train.
        options: Its options.
        artifacts: Where to store, an address for `open_store`.
        environment: The process environment.
        stop: Knows whether SIGTERM has arrived.

    Raises:
        UserError: If the run cannot succeed as it is.
        TryAgainError: If another run may succeed.
        StoppedError: If SIGTERM has arrived.
    """
    replica = Replica.join(environment, stop or Stop(), artifacts, may_evaluate=True)
    if not (replica.cluster.leads or replica.cluster.evaluates):
        log.setLevel(logging.WARNING)
    run = Run(workload, options, replica)
    with closing(replica.store):
        if replica.cluster.evaluates:
            evaluate(run)
        elif not replica.finished(run.known_settings()):
            patch_tracer()  # before any of the modules below imports TensorFlow
            _train(run.completed())


def _train(run: Run) -> None:
    check_memory(_memory(run))
    run.replica.check()
    if run.replica.cluster.serves:
        _serve(run)
    else:
        _train_and_store(run)


def _memory(run: Run) -> ReplicaMemory | None:
    """Returns the memory that this process needs. With parameter servers, each worker computes whole batches."""
    cluster = run.replica.cluster
    return run.workload.memory(run.options, 1 if cluster.is_coordinated else cluster.size)


def _train_and_store(run: Run) -> None:
    replica, telemetry = run.replica, run.replica.telemetry
    newest = run.checkpoints.newest() if replica.cluster.leads else None
    training = WorkloadTraining(run)
    replica.serve(training.progress(newest.position if newest else Position()), "loading TensorFlow")

    with none_collected():
        from qtj_trainer.loop.batches import inputs_named
        from qtj_trainer.replicate.strategy import diverging_together, leave_together, peers_watched, start_tensorflow

        telemetry.activity = "connecting" if replica.cluster.size > 1 else "preparing"
        message = newest.name if newest else ""
        strategy, chosen = start_tensorflow(
            replica.cluster,
            devices=run.options.devices,
            message=message,
            terms=run.terms(),
            profiler_port=replica.profiler_port,
        )
        telemetry.activity = "preparing"
        checkpoint = newest or (run.checkpoints.read(chosen) if chosen else None)
        split = run.workload.split(run.options)
        with peers_watched(replica.cluster):
            loop = _loop(run, strategy, split)
            held_out = run.workload.sealed(split.held_out) if replica.cluster.leads else split.held_out
    with peers_watched(replica.cluster), inputs_named(*loop.examples), diverging_together(strategy, replica.cluster):
        end = training.complete(loop, checkpoint)
    replica.finish(lambda: _store(run, loop, held_out, end), lambda: leave_together(strategy, replica.cluster))


def _loop(run: Run, strategy: "tf.distribute.Strategy", split: Split) -> "Loop":
    from qtj_trainer.loop.coordinated import Coordinated
    from qtj_trainer.loop.independent_steps import IndependentSteps
    from qtj_trainer.loop.synchronous import Synchronous
    from qtj_trainer.loop.task import Task

    task = Task.of(run.workload, run.options, split)
    if not run.replica.cluster.is_coordinated:
        kind = IndependentSteps if _takes_whole_steps(run, strategy) else Synchronous
        return kind(task, strategy)
    workers = sum(member.role == "worker" for member in run.replica.cluster.members)
    return Coordinated(task, strategy, workers=workers)


def _takes_whole_steps(run: Run, strategy: "tf.distribute.Strategy") -> bool:
    """Returns whether each process takes whole steps. Several devices of a process share steps anyway."""
    size = run.replica.cluster.size
    if not 1 < size == strategy.num_replicas_in_sync or not run.workload.takes_whole_steps(run.options):
        return False
    log.info("each of the %d processes takes whole steps: a step is shorter than an exchange of gradients", size)
    return True


def _store(run: Run, loop: "Loop", held_out: Arrays, end: Position) -> Result:
    from qtj_trainer.run.outcome import store_outcome

    result = store_outcome(run, loop, held_out, end)
    run.checkpoints.clear()
    return result


def _serve(run: Run) -> None:
    """Holds variables or runs steps for the coordinator, until the job has its result."""
    replica = run.replica
    replica.serve(run.initial_progress())

    from qtj_trainer.replicate.strategy import prepare_tensorflow, serve

    prepare_tensorflow()

    from qtj_trainer.loop.coordinated import load_operations

    load_operations(run.workload, run.options)
    server = serve(replica.cluster, profiler_port=replica.profiler_port)
    while not replica.result_so_far(run.settings):
        time.sleep(_POLL)
    del server
