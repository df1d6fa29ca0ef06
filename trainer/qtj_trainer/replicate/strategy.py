"""Starts TensorFlow in the one order that works, with the strategy the environment asks for, and ends it the same way.

TensorFlow fixes its thread pools, its devices and its cluster when it is first used, and TensorFlow Quantum uses it
while it is imported. Hence: import TensorFlow, threads, devices, strategy; only then a model.

    TF_CONFIG names parameter servers     ParameterServerStrategy      the chief hands out steps, the others serve
    TF_CONFIG names several processes     MultiWorkerMirroredStrategy  all take each step together
    TPU_NAME is set                       TPUStrategy
    several devices                       MirroredStrategy             GPUs, or logical devices of the processor
    otherwise                             TensorFlow's default: one device
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qtj_contract.control_groups import cpu_limit
from qtj_trainer.errors import DivergedError, TryAgainError, UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.quiet import without_plugin_noise
from qtj_trainer.replicate.rendezvous import meet, meet_servers
from qtj_trainer.replicate.terms import Terms
from qtj_trainer.tracer import mend_tracer, serve_profiles

mend_tracer()
with without_plugin_noise():
    import tensorflow as tf

__all__ = [
    "diverging_together",
    "farewell",
    "is_of_worker",
    "peers_watched",
    "prepare_tensorflow",
    "serve",
    "start_tensorflow",
]

log = logging.getLogger("qtj_trainer")

_SIGNS_OF_DEATH = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)


def start_tensorflow(
    cluster: Cluster,
    *,
    devices: int = 0,
    word: str = "",
    terms: Terms | None = None,
    profiler_port: int | None = None,
) -> tuple[tf.distribute.Strategy, str]:
    """Sets up threads, devices, strategy and profiler; with several processes this waits until all have come.

    Args:
        cluster: Who trains.
        devices: How many devices of this process train; 0 takes all GPUs, or the processor as one device.
        word: What the leader has to say to all before they begin.
        terms: What all that take each step together must have alike.
        profiler_port: Where this process can be asked for profiles.

    Returns:
        The strategy, and the word of the leader.

    Raises:
        UserError: If there are not as many devices, or the terms of one process are not those of the leader.
        TryAgainError: If a peer went away meanwhile.
    """
    prepare_tensorflow()
    chosen = _devices(devices)
    with peers_watched(cluster):
        if cluster.is_coordinated:
            meet_servers(cluster)
        else:
            word = meet(cluster, word, terms)
        if cluster.size > 1:
            log.info("all %d processes have met", cluster.size)
        strategy = _strategy(cluster, chosen)
    serve_profiles(profiler_port)
    return strategy, word


def prepare_tensorflow() -> None:
    """Sets up what has to be settled before TensorFlow is used, in a process with or without a strategy."""
    log.info("TensorFlow %s is ready", tf.__version__)
    tf.get_logger().setLevel("ERROR")
    # TensorFlow counts the processors of the node: a container that may use 2 of 64 would run 64 threads, and be halted
    # by the kernel for most of each scheduling period.
    if threads := cpu_limit():
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    for gpu in tf.config.list_physical_devices("GPU"):  # otherwise the first process takes all the memory of each
        tf.config.experimental.set_memory_growth(gpu, True)  # noqa: FBT003  as TensorFlow has it


def serve(cluster: Cluster, *, profiler_port: int | None = None) -> tf.distribute.Server:
    """Starts the server of a parameter server or of its worker, whose operations must be loaded by then.

    Args:
        cluster: Who trains.
        profiler_port: Where this process can be asked for profiles.

    Raises:
        UserError: If its port is taken.
    """
    assert cluster.me  # noqa: S101  a process outside a cluster serves nobody
    # Each remote call holds a thread of its worker, and a processor may offer fewer than there are workers.
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
        raise UserError(f"cannot listen as {cluster.me}: free the port or name another") from problem
    serve_profiles(profiler_port)
    return server


@contextmanager
def peers_watched(cluster: Cluster) -> Iterator[None]:
    """Turns the errors by which TensorFlow notices a dead peer into one sentence and a retry."""
    try:
        yield
    except _SIGNS_OF_DEATH as problem:
        if cluster.size == 1:
            raise
        peer = "another worker" if not cluster.is_coordinated or is_of_worker(problem) else "a parameter server"
        raise TryAgainError(
            f"{cluster.me} lost {peer} ({type(problem).__name__}): all have to start again"
        ) from problem


@contextmanager
def diverging_together(strategy: tf.distribute.Strategy, cluster: Cluster) -> Iterator[None]:
    """Lets all processes leave together where training diverges, which all of them notice at the same step.

    A slower one would otherwise take the end of a faster one for a lost peer, and ask for another run.
    """
    try:
        yield
    except DivergedError:
        with suppress(TryAgainError):
            farewell(strategy, cluster)
        raise


def is_of_worker(problem: Exception) -> bool:
    """Tells whether an error is of a coordinator's worker that is away, and not of a parameter server.

    A worker that is back already under its old address has no device and no tensor of its predecessor's: that is an
    invalid argument.
    """
    said = str(problem)
    is_sign = isinstance(problem, (*_SIGNS_OF_DEATH, tf.errors.InvalidArgumentError))
    return is_sign and "/job:worker" in said and "remote target /job:ps" not in said


def farewell(strategy: tf.distribute.Strategy, cluster: Cluster) -> None:
    """Lets all processes leave together.

    Two rounds. Nobody comes out of the first before all are in it, the leader with its results stored: from then on
    success is certain. Whoever comes out of the second knows that all came out of the first. A process that comes out
    early and exits may break the second round for a slower one, which harms nobody. Servers take no part: they see for
    themselves that the job has its result.

    Raises:
        TryAgainError: If a process died before all had arrived.
    """
    if cluster.is_coordinated:
        return
    with peers_watched(cluster):
        _meet(strategy)
    with suppress(TryAgainError), peers_watched(cluster):
        _meet(strategy)


def _devices(count: int) -> list[str]:
    """Returns the devices to train on, in TensorFlow's names; empty for its own choice."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        if count > len(gpus):
            raise UserError(
                f"--devices is {count}, and this process has {len(gpus)} GPUs: ask for fewer or for another machine"
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
        # A call to a worker that is away must wait for it, not fail at once.
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
