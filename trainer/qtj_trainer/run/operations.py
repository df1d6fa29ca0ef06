"""Loads the TensorFlow operations of a workload's model.

A worker of a parameter server runs graphs that its coordinator has built. Operations that are not part of TensorFlow
are in libraries, which are loaded when such a graph is first built: in the coordinator, not in a worker.
"""

import tensorflow as tf

from qtj_trainer.loop.batches import batches
from qtj_trainer.loop.synchronous import Synchronous
from qtj_trainer.loop.task import Task
from qtj_trainer.workloads import Workload
from qtj_trainer.workloads.options import Options

__all__ = ["load_operations"]


def load_operations(workload: Workload, options: Options) -> None:
    """Builds the graphs of a training step and an evaluation step, as the coordinator does, and discards them."""
    examples = workload.encode(workload.split(options).training, options)
    loop = Synchronous(Task(workload, options, examples, examples), tf.distribute.get_strategy())
    loop.trace(next(iter(batches(examples, 1))))
