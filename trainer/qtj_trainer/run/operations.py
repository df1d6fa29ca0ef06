"""Loads the operations that a workload's model consists of.

A worker of a parameter server runs graphs that its coordinator has made. Operations that are no part of TensorFlow come
from libraries, which are loaded when a graph with them is first made: there, not here.
"""

import tensorflow as tf

from qtj_trainer.run.batches import batches
from qtj_trainer.run.synchronous import Synchronous
from qtj_trainer.workloads import Workload
from qtj_trainer.workloads.options import Options

__all__ = ["load_operations"]


def load_operations(workload: Workload, options: Options) -> None:
    """Makes the graph of one training step and one scoring, as the coordinator does, and throws it away."""
    examples = workload.encode(workload.split(options).training, options)
    loop = Synchronous(workload, options, tf.distribute.get_strategy(), training=examples, held_out=examples)
    loop.trace(next(iter(batches(examples, 1))))
