"""Starts TensorFlow in the one order that works, and ends it the same way.

TensorFlow fixes its thread pools and its cluster when it is first used, and TensorFlow Quantum uses it while it is
imported. Hence: import TensorFlow, threads, strategy; only then a model.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import tensorflow as tf

from qtj_trainer.cpu import cpu_limit
from qtj_trainer.errors import TryAgainError
from qtj_trainer.run.cluster import Cluster
from qtj_trainer.run.rendezvous import meet

__all__ = ["farewell", "peers_watched", "start_tensorflow"]

_SIGNS_OF_DEATH = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)


def start_tensorflow(
    cluster: Cluster, *, word: str = "", profiler_port: int | None = None
) -> tuple[tf.distribute.Strategy, str]:
    """Sets up threads, strategy and profiler; with several processes this waits until all have come.

    Args:
        cluster: Who trains.
        word: What the leader has to say to all before they begin.
        profiler_port: Where this process can be asked for profiles.

    Returns:
        A multi-worker strategy for several processes, TensorFlow's default for one; and the word of the leader.
    """
    tf.get_logger().setLevel("ERROR")
    if threads := cpu_limit():
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    with peers_watched(cluster):
        word = meet(cluster, word)
        strategy = _strategy(cluster)
    if profiler_port:
        tf.profiler.experimental.server.start(profiler_port)
    return strategy, word


@contextmanager
def peers_watched(cluster: Cluster) -> Iterator[None]:
    """Turns the errors by which TensorFlow notices a dead peer into one sentence and a retry."""
    try:
        yield
    except _SIGNS_OF_DEATH as problem:
        if cluster.size == 1:
            raise
        raise TryAgainError(
            f"{cluster.me} lost another worker ({type(problem).__name__}): all have to start again"
        ) from problem


def farewell(strategy: tf.distribute.Strategy, cluster: Cluster) -> None:
    """Lets all processes leave together.

    Two rounds. Nobody comes out of the first before all are in it, the leader with its results stored: from then on
    success is certain. Whoever comes out of the second knows that all came out of the first. A process that comes out
    early and exits may break the second round for a slower one, which harms nobody.

    Raises:
        TryAgainError: If a process died before all had arrived.
    """
    with peers_watched(cluster):
        _meet(strategy)
    with suppress(TryAgainError), peers_watched(cluster):
        _meet(strategy)


def _strategy(cluster: Cluster) -> tf.distribute.Strategy:
    if cluster.size == 1:
        return tf.distribute.get_strategy()
    return tf.distribute.MultiWorkerMirroredStrategy()


def _meet(strategy: tf.distribute.Strategy) -> None:
    everyone = strategy.run(lambda: tf.constant(1.0))
    strategy.reduce(tf.distribute.ReduceOp.SUM, everyone, axis=None)
