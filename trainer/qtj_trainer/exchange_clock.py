"""How long this process has waited for its peers in exchanges of numbers.

Replicas that take each step together end it together. So the time of a step does not tell which of them is slow, and
the time without this wait does::

    worker-0  compute | wait ........... | exchange
    worker-1  compute ................. | exchange

Every exchange of TensorFlow's strategy for several workers is a call of `CollectiveReplicaLauncher.all_reduce`: those
of the trainer, of Keras 2 and 3, and of distributed data. Two readings of the clock in the graph surround it, and their
difference is added to a variable.

With GPUs nothing is measured: their kernels run behind the graph, and XLA cannot compile a reading of the clock.
"""

import threading
from typing import Any

__all__ = ["exchange_seconds", "time_exchanges"]

_LOCK = threading.Lock()
_totals: list[Any] = []
"""The variable with the seconds, once there was an exchange."""


def exchange_seconds() -> float:
    """Returns the seconds that this process has spent in exchanges; 0 where they are not measured."""
    return float(_totals[0].numpy()) if _totals else 0.0


def time_exchanges() -> None:
    """Measures exchanges from now on, if this version of TensorFlow has the class. This imports TensorFlow."""
    try:
        from tensorflow.python.distribute.cross_device_utils import CollectiveReplicaLauncher as Launcher
    except ImportError:
        return
    reduce = Launcher.all_reduce
    if getattr(reduce, "is_timed", False):
        return

    def timed(self: Any, value: Any, *rest: Any, **more: Any) -> Any:
        if not _is_first_processor(str(self._device)):
            return reduce(self, value, *rest, **more)
        return _timed(value, lambda: reduce(self, value, *rest, **more))

    timed.is_timed = True  # type: ignore[attr-defined]
    Launcher.all_reduce = timed


def _is_first_processor(device: str) -> bool:
    """Whether a replica is the first of its process, and computes on the processor."""
    return device.upper().endswith("CPU:0")


def _timed(value: Any, exchange: Any) -> Any:
    import tensorflow as tf

    total = _total()
    with tf.control_dependencies([value]), tf.device("CPU:0"):
        before = tf.timestamp()
    with tf.control_dependencies([before]):
        result = exchange()
    with tf.control_dependencies([result]), tf.device("CPU:0"):
        total.assign_add(tf.timestamp() - before)
    return result


def _total() -> Any:
    """Returns the variable. Another thread creates it: it has neither the graph nor the strategy of this one."""
    with _LOCK:
        if not _totals:
            thread = threading.Thread(target=_create)
            thread.start()
            thread.join()
    return _totals[0]


def _create() -> None:
    import tensorflow as tf

    with tf.device("CPU:0"):
        _totals.append(tf.Variable(0.0, dtype=tf.float64, trainable=False))
