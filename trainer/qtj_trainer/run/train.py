"""One training run: check, train, store, say so.

First everything that can be wrong and is cheap to find, before TensorFlow's 11 seconds and the hours of training:

    1  the cluster, the store
    2  a result of this very job: then there is nothing left to do; else the data, the memory, the ports
    3  a checkpoint of this very job: then all go on from there
    4  training, the same in all processes; the leader stores checkpoints
    5  the leader stores: held-out set, weights, record, and last the result
    6  all leave together
"""

import logging
import time
from collections.abc import Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import qtj_contract as contract
from qtj_contract.memory import ReplicaMemory
from qtj_trainer.errors import DivergedError, StoppedError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.run.artifacts import Result
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints
from qtj_trainer.run.evaluate import evaluate
from qtj_trainer.run.garbage import none_collected
from qtj_trainer.run.job import Run
from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.run.progress_log import epoch_line, log_progress
from qtj_trainer.run.resources import check_memory
from qtj_trainer.run.signals import Stop
from qtj_trainer.run.stopping import has_stopped
from qtj_trainer.run.telemetry import Telemetry, check_free, port_from
from qtj_trainer.run.termination import leave_message
from qtj_trainer.storage import open_store
from qtj_trainer.workloads import Split, Workload
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf

    from qtj_trainer.run.board import Board
    from qtj_trainer.run.loop import Loop

__all__ = ["train"]

_LOOK = 5.0
"""Seconds between two looks of a server at whether the job has its result."""

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
        stop: Tells when to end early.

    Raises:
        UserError: If the run cannot succeed as it is.
        TryAgainError: If another run may succeed.
        StoppedError: If it was told to end.
    """
    cluster = Cluster.from_environment(environment, may_evaluate=True)
    if not (cluster.leads or cluster.evaluates):
        log.setLevel(logging.WARNING)
    with closing(open_store(artifacts)) as store:
        job_uid = environment.get(contract.Env.JOB_UID, "")
        checkpoints = Checkpoints(store, job_uid, workload, options)
        run = Run(workload, options, cluster, store, checkpoints, job_uid, environment, stop or Stop())
        result = evaluate(run) if cluster.evaluates else _result(run)
    if result and cluster.leads:
        leave_message(environment, result.message())


def _result(run: Run) -> Result | None:
    """Returns the result of the job; None in processes that do not lead while it is made."""
    result = Result.of_job(run.store, run.job_uid)
    if result:
        log.info("this job has trained before: its weights are %s", result.weights.uri)
        if run.cluster.leads:
            run.checkpoints.clear()
        return result
    run = run.completed()
    check_memory(_memory(run))
    return _serve(run) if run.cluster.serves else _train_and_store(run)


def _memory(run: Run) -> ReplicaMemory | None:
    """Returns what this process takes: of parameter servers, each worker computes whole batches."""
    return run.workload.memory(run.options, 1 if run.cluster.is_coordinated else run.cluster.size)


def _train_and_store(run: Run) -> Result | None:
    if run.cluster.leads:
        run.store.check_writable()
    newest = run.checkpoints.newest() if run.cluster.leads else None
    telemetry = run.telemetry(newest.position if newest else Position(), "loading TensorFlow")
    profiler_port = _profiler_port(run)

    with none_collected():
        from qtj_trainer.replicate.strategy import diverging_together, farewell, peers_watched, start_tensorflow  # noqa: PLC0415
        from qtj_trainer.run.undecodable import inputs_named  # noqa: PLC0415

        telemetry.activity = "connecting" if run.cluster.size > 1 else "preparing"
        word = newest.name if newest else ""
        strategy, chosen = start_tensorflow(
            run.cluster, devices=run.options.devices, word=word, terms=run.terms(), profiler_port=profiler_port
        )
        telemetry.activity = "preparing"
        checkpoint = newest or (run.checkpoints.read(chosen) if chosen else None)
        split = run.workload.split(run.options)
        with peers_watched(run.cluster):
            loop = _loop(run, strategy, split)
    with peers_watched(run.cluster), inputs_named(*loop.examples), diverging_together(strategy, run.cluster):
        end = _watch(run, loop, telemetry, checkpoint)
    telemetry.activity = "storing"
    result = _store(run, loop, split, end) if run.cluster.leads else None
    farewell(strategy, run.cluster)
    return result


def _profiler_port(run: Run) -> int | None:
    port = port_from(run.environment, contract.Env.PROFILER_PORT)
    if port:
        check_free(port, contract.Env.PROFILER_PORT)
    return port


def _loop(run: Run, strategy: "tf.distribute.Strategy", split: Split) -> "Loop":
    from qtj_trainer.run.coordinated import Coordinated  # noqa: PLC0415
    from qtj_trainer.run.synchronous import Synchronous  # noqa: PLC0415

    training, held_out = run.encoded(split)
    if not run.cluster.is_coordinated:
        return Synchronous(run.workload, run.options, strategy, training=training, held_out=held_out)
    workers = sum(member.role == "worker" for member in run.cluster.members)
    return Coordinated(run.workload, run.options, strategy, training=training, held_out=held_out, workers=workers)


def _watch(run: Run, loop: "Loop", telemetry: Telemetry, checkpoint: Checkpoint | None) -> Position:
    """Trains to the end, storing and telling how far it is, and returns where that is."""
    position = start = _resume(loop, checkpoint) if checkpoint else Position()
    telemetry.progress = run.progress(position, loop.steps, loop.devices)
    telemetry.activity = "compiling"  # the first step does
    began = before = time.perf_counter()

    def pause(step: int) -> bool:
        return run.stop.is_told() or run.checkpoints.is_due_by_step(step)

    with _board(run) if run.cluster.leads else nullcontext() as board:
        for position in loop.positions(start, pause):
            run.stop.expect(time.perf_counter() - before)
            telemetry.progress, telemetry.activity = run.progress(position, loop.steps, loop.devices), ""
            if position.ends_epoch or run.checkpoints.is_due(position):
                loop.check_weights(position.step)
            if position.ends_epoch:
                _show(run, loop, position, board)
            _keep(run, loop, position)
            telemetry.progress = run.progress(position, loop.steps, loop.devices)
            before = time.perf_counter()
    if position.best and has_stopped(position, run.options):
        said = "stopped early: the loss on the held-out set was lowest after epoch %d, %d epochs ago"
        log.info(said, position.best.number, position.epochs - position.best.number)
    log.info("trained %d steps in %.1f s", position.step - start.step, time.perf_counter() - began)
    return position


def _resume(loop: "Loop", checkpoint: Checkpoint) -> Position:
    loop.restore(checkpoint.state)
    position = checkpoint.position
    loop.check_weights(position.step)
    within = "" if position.ends_epoch else f" and step {position.step}"
    log.info("resumed after epoch %d%s from %s", position.epochs, within, checkpoint.uri)
    return position


def _board(run: Run) -> "Board":
    from qtj_trainer.run.board import Board  # noqa: PLC0415

    return Board(run.store, run.job_uid, circuit=run.workload.drawing(run.options))


def _show(run: Run, loop: "Loop", position: Position, board: "Board | None") -> None:
    assert position.last  # noqa: S101  an epoch has just ended
    said = run.progress(position, loop.steps, loop.devices)
    log.info("epoch %s", _line(position.last, run.options.epochs), extra={"progress": said.to_dict()})
    if board:
        log_progress(run.environment, said)
        board.show(position.last, loop.readouts, loop.weights())


def _keep(run: Run, loop: "Loop", position: Position) -> None:
    """Stores a checkpoint when one is due, and when the process was told to end."""
    told = run.stop.is_told() and loop.is_settled
    if told:
        run.stop.patience = inf  # the end of the step has come: from here on the main thread ends the process
    if run.cluster.leads and run.checkpoints.is_due(position):
        with run.stop.held_up():
            run.checkpoints.save(position, loop.state())
    elif told and run.checkpoints.are_wanted:
        _keep_the_last(run, loop, position)
    if told:
        raise StoppedError(f"{run.cluster.me or 'the training'} was told to end, after step {position.step}")


def _keep_the_last(run: Run, loop: "Loop", position: Position) -> None:
    """Stores a checkpoint of a process that was told to end; the next attempt sees for itself where training diverges.

    No peer need look at its weights after the same step, so this is no place to fail for them.
    """
    with run.stop.held_up(), suppress(DivergedError):
        loop.check_weights(position.step)
        run.checkpoints.add(position, loop.state())


def _line(epoch: Epoch, epochs: int) -> str:
    loss = {} if epoch.validation_loss is None else {"loss": epoch.validation_loss}
    held_out = "  ".join(f"{name} {value:.4f}" for name, value in (loss | epoch.scores).items())
    trained = epoch_line(replace(epoch, scores={}), epochs)
    return f"{trained}  {epoch.examples_per_second:.0f} examples/s  held-out: {held_out}"


def _store(run: Run, loop: "Loop", split: Split, end: Position) -> Result:
    from qtj_trainer.run.outcome import store_outcome  # noqa: PLC0415

    with run.stop.held_up():
        result = store_outcome(run, loop, split.held_out, end)
        run.checkpoints.clear()
    return result


def _serve(run: Run) -> Result:
    """Holds variables or takes steps for the coordinator, until the job has its result."""
    run.telemetry(Position())
    profiler_port = _profiler_port(run)

    from qtj_trainer.replicate.strategy import prepare_tensorflow, serve  # noqa: PLC0415

    prepare_tensorflow()

    from qtj_trainer.run.operations import load_operations  # noqa: PLC0415

    load_operations(run.workload, run.options)
    server = serve(run.cluster, profiler_port=profiler_port)
    while not (result := run.result_so_far()):
        time.sleep(_LOOK)
    del server
    return result
