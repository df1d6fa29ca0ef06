"""Exchange between replicas, with what a program may give by mistake: one replica and two behave alike."""

from pathlib import Path

import pytest

from tests.trainer.processes import Ended, Trainer

PROGRAM = """
from qtj_trainer.replicate import Replicator, all_gather, all_reduce, broadcast

replicator = Replicator()

import tensorflow as tf
import tf_keras

pair = [[7.0, 8.0]]
with replicator.scope():
    weights = [tf.Variable(1.0), tf.Variable(2.0)]
    optimizer = replicator.wrap_optimizer(tf_keras.optimizers.SGD(0.5))
    optimizer.build(weights)


def with_none(_):
    optimizer.apply_gradients(zip([tf.constant(1.0), None], weights))
    return tf.stack(weights)


def legacy(_):
    replicator.wrap_optimizer(tf_keras.optimizers.legacy.SGD(0.5))


CASES = {
    "source 0": lambda _: broadcast(pair, source=0),
    "source -1": lambda _: broadcast(pair, source=-1),
    "source 2": lambda _: broadcast(pair, source=2),
    "source True": lambda _: broadcast(pair, source=True),
    "source 0.5": lambda _: broadcast(pair, source=0.5),
    "source tensor": lambda _: broadcast(pair, source=tf.constant(0)),
    "bool": lambda _: broadcast([True]),
    "text": lambda _: all_reduce(["a"]),
    "how": lambda _: all_reduce(pair, "max"),
    "number": lambda _: tf.shape(all_reduce(1.0)),
    "axis 2": lambda _: all_gather(pair, axis=2),
    "axis -3": lambda _: all_gather(pair, axis=-3),
    "axis 0.5": lambda _: all_gather(pair, axis=0.5),
    "scalar": lambda _: all_gather(1.0),
    "last axis": lambda _: all_gather(pair, axis=-1)[:, :2],
    "gradient None": with_none,
    "legacy": legacy,
}

with replicator, replicator.scope():
    for name, step in CASES.items():
        try:
            (result,) = replicator.run(step, lambda _: tf.data.Dataset.range(1), 1)
            print(name, tf.nest.map_structure(lambda each: each.numpy().tolist(), result), sep=": ")
        except Exception as problem:
            print(name, type(problem).__name__, str(problem).strip().splitlines()[-1].split("Error: ")[-1], sep=": ")
"""

OUTPUT = """\
source 0: [[7.0, 8.0]]
source -1: ValueError: broadcast has the source -1: give the index of a replica, below REPLICAS
source 2: ValueError: broadcast has the source 2: give the index of a replica, below REPLICAS
source True: ValueError: broadcast has the source True: give the index of a replica, below REPLICAS
source 0.5: ValueError: broadcast has the source 0.5: give the index of a replica, below REPLICAS
source tensor: ValueError: broadcast has the source <tf.Tensor 'Const:0' shape=() dtype=int32>: \
give the index of a replica, below REPLICAS
bool: ValueError: replicas add up numbers, and this tensor has the type bool: cast it to a type of numbers
text: ValueError: replicas add up numbers, and this tensor has the type string: cast it to a type of numbers
how: ValueError: all_reduce cannot combine tensors by 'max': give "sum" or "mean"
number: []
axis 2: ValueError: all_gather has the axis 2, and the tensor has the rank 2: give an axis from -2 to 1
axis -3: ValueError: all_gather has the axis -3, and the tensor has the rank 2: give an axis from -2 to 1
axis 0.5: ValueError: all_gather has the axis 0.5, and the tensor has the rank 2: give an axis from -2 to 1
scalar: ValueError: all_gather joins tensors along an axis, and this one is a single number: add an axis
last axis: [[7.0, 8.0]]
gradient None: [0.5, 2.0]
legacy: UserError: SGD of tf_keras.src.optimizers.legacy.gradient_descent is an optimizer of an earlier interface: \
use tf_keras.optimizers.SGD
"""


def lines(ended: Ended) -> list[str]:
    assert ended.code == 0, ended.errors
    return ended.output.splitlines()


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_mistake_is_a_sentence_on_one_replica_and_on_two(trainer: Trainer, tmp_path: Path, replicas: int) -> None:
    program = tmp_path / "mistakes.py"
    program.write_text(PROGRAM)

    ended = trainer.start_program(program, QTJ_DEVICES=str(replicas)).end()

    assert lines(ended) == OUTPUT.replace("REPLICAS", str(replicas)).splitlines()
