"""Starts TensorFlow in the only order that works, with the strategy of the environment, and ends it.

TensorFlow fixes its thread pools, its devices and its cluster when it is first used, and TensorFlow Quantum uses it
while it is imported. So the order is: import TensorFlow, devices, strategy, and then the model. The import of this
package sets the number of threads.

    TF_CONFIG names parameter servers     ParameterServerStrategy      the chief schedules steps, the others serve
    TF_CONFIG names several processes     MultiWorkerMirroredStrategy  all take each step together
    TPU_NAME is set                       TPUStrategy
    several devices                       MirroredStrategy             GPUs, or logical devices of the processor
    otherwise                             TensorFlow's default: one device
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qtj_contract.printable import reason_of
from qtj_trainer.errors import DivergedError, TryAgainError, UserError
from qtj_trainer.exchange_clock import time_exchanges
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.rendezvous import Terms, meet
from qtj_trainer.tracer import patch_tracer, serve_profiles

patch_tracer()

import tensorflow as tf  # noqa: E402  the tracer is patched before

time_exchanges()

__all__ = [
    "agree",
    "diverging_together",
    "is_of_worker",
    "leave_together",
    "peers_watched",
    "prepare_tensorflow",
    "serve",
    "start_tensorflow",
]

log = logging.getLogger("qtj_trainer")

_LOST_PEER_ERRORS = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)


def start_tensorflow(
    cluster: Cluster,
    *,
    devices: int = 0,
    message: str = "",
    terms: Terms | None = None,
    profiler_port: int | None = None,
) -> tuple[tf.distribute.Strategy, str]:
    """Sets up threads, devices, strategy and profiler. With several processes, it waits until all have met.

    Args:
        cluster: The processes that train.
        devices: Number of devices of this process that train; 0 takes all GPUs, or the processor as one device.
        message: The leader's message to all processes, one line.
        terms: Values that must be equal in all processes that take each step together.
        profiler_port: Port for requests of profiles; None serves none.

    Returns:
        The strategy, and the message of the leader.

    Raises:
        UserError: If there are fewer devices, or the terms of a process differ from those of the leader.
        TryAgainError: If a peer was lost in the meantime, or a GPU cannot be opened.
    """
    prepare_tensorflow()
    chosen = _devices(devices)
    with peers_watched(cluster):
        message = meet(cluster, message, terms)
        with _gpus_watched():
            strategy = _strategy(cluster, chosen)
            tf.config.list_logical_devices()  # opens them
    serve_profiles(profiler_port)
    return strategy, message


def prepare_tensorflow() -> None:
    """Logs the version of TensorFlow, and lets it warn no more."""
    log.info("TensorFlow %s is ready", tf.__version__)
    tf.get_logger().setLevel("ERROR")


def serve(cluster: Cluster, *, profiler_port: int | None = None) -> tf.distribute.Server:
    """Starts the server of a parameter server or of its worker. The operations of the model must be loaded before.

    Args:
        cluster: The processes that train.
        profiler_port: Port for requests of profiles; None serves none.

    Raises:
        UserError: If its port is in use.
    """
    assert cluster.me
    # Each remote call holds a thread of its worker, and a machine may have fewer processors than there are workers.
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=max(4, cluster.size + 1))
    try:
        server = tf.distribute.Server(
            cluster.addresses(),
            job_name=cluster.me.role,
            task_index=cluster.me.index,
            protocol="grpc",
            config=config,
        )
    except tf.errors.UnknownError as problem:
        raise UserError(f"cannot listen as {cluster.me}: free the port or use another one") from problem
    serve_profiles(profiler_port)
    return server


@contextmanager
def peers_watched(cluster: Cluster) -> Iterator[None]:
    """Converts TensorFlow's errors for a lost peer to a `TryAgainError`."""
    try:
        yield
    except _LOST_PEER_ERRORS as problem:
        if cluster.size == 1:
            raise
        peer = "another worker" if not cluster.is_coordinated or is_of_worker(problem) else "a parameter server"
        raise TryAgainError(
            f"{cluster.me} lost {peer} ({type(problem).__name__}): all have to start again"
        ) from problem


@contextmanager
def _gpus_watched() -> Iterator[None]:
    """Converts TensorFlow's error for a GPU that cannot be opened: a program before this one may not have left yet."""
    try:
        yield
    except tf.errors.InternalError as problem:
        if not tf.config.list_physical_devices("GPU"):
            raise
        raise TryAgainError(
            f"cannot use the GPUs of this machine: end other programs that hold their memory ({reason_of(problem)})"
        ) from problem


@contextmanager
def diverging_together(strategy: tf.distribute.Strategy, cluster: Cluster) -> Iterator[None]:
    """Lets all processes end together if training diverges, which all of them detect at the same step.

    Otherwise a slower process would treat a faster one as a lost peer, and ask for another run.
    """
    try:
        yield
    except DivergedError:
        with suppress(TryAgainError):
            leave_together(strategy, cluster)
        raise


def is_of_worker(problem: Exception) -> bool:
    """Returns whether an error is due to a lost worker of a coordinator, and not to a parameter server.

    A new worker at the old address does not have the devices and tensors of the lost one. TensorFlow reports that as an
    invalid argument.
    """
    message = str(problem)
    is_sign = isinstance(problem, (*_LOST_PEER_ERRORS, tf.errors.InvalidArgumentError))
    return is_sign and "/job:worker" in message and "remote target /job:ps" not in message


def leave_together(strategy: tf.distribute.Strategy, cluster: Cluster) -> None:
    """Waits at two barriers, so that all processes end together.

    All processes leave the first barrier only after all have reached it, the leader with its result stored: from then
    on success is certain. A process that leaves the second barrier knows that all have left the first. If it exits, the
    second barrier may fail for a slower process, which has no effect. Servers do not take part: they check themselves
    whether the job has its result.

    Raises:
        TryAgainError: If a process was lost before all had reached the first barrier.
    """
    if cluster.is_coordinated:
        return
    with peers_watched(cluster):
        _meet(strategy)
    with suppress(TryAgainError), peers_watched(cluster):
        _meet(strategy)


def _devices(count: int) -> list[str]:
    """Returns TensorFlow's names of the devices to train on; empty for TensorFlow's default."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        if count > len(gpus):
            raise UserError(
                f"--devices is {count}, and this process has {len(gpus)} GPUs: use fewer devices or another machine"
            )
        chosen = [f"GPU:{index}" for index in range(count or len(gpus))]
        log.info("training on %s", ", ".join(chosen))
        return chosen
    if count > 1:
        processor = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * count)
    return [f"CPU:{index}" for index in range(count)]


def _strategy(cluster: Cluster, devices: list[str]) -> tf.distribute.Strategy:
    if cluster.is_coordinated:
        # A call to a lost worker must wait for its replacement, not fail at once.
        os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")
        return tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    if cluster.size > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if os.environ.get("TPU_NAME"):
        return _tpu_strategy()
    if len(devices) > 1:
        return tf.distribute.MirroredStrategy(devices)
    return tf.distribute.get_strategy()


def _tpu_strategy() -> tf.distribute.Strategy:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def _meet(strategy: tf.distribute.Strategy) -> None:
    everyone = tf.function(lambda: strategy.run(lambda: tf.constant(1.0)), autograph=False)
    strategy.reduce(tf.distribute.ReduceOp.SUM, everyone(), axis=None)


def agree(step: int, strategy: tf.distribute.Strategy) -> None:
    """Raises UserError unless all processes have found a checkpoint of the same step. Nothing else checks this."""
    if strategy.num_replicas_in_sync == 1:
        return
    moments = tf.constant([step, step * step], tf.int64)
    mine = tf.function(lambda: strategy.run(lambda: tf.identity(moments)), autograph=False)  # a value for each replica
    total, squares = strategy.reduce(tf.distribute.ReduceOp.SUM, mine(), axis=None).numpy()
    if squares * strategy.num_replicas_in_sync != total * total:
        raise UserError("the workers find different checkpoints: put the artifacts where all of them can read them")
