"""Whole training steps of the trainer, with either engine."""

import numpy as np

from bench.case import Case
from bench.simulators.simulator import Simulator

_ENDLESS_ROUNDS = 20_000
"""An epoch of so many rounds does not end within the benchmark."""


def steps_of(case: Case) -> int:
    """Returns the training steps of one measurement: the trainer takes many steps of a small circuit in one call."""
    return max(32, 640 >> max(0, case.qubits - 8))


def _trainer(case: Case, engine: str) -> Simulator:
    """Whole training steps of the trainer, from the batch to the optimizer: `steps_of` them for each gradient."""
    import tensorflow as tf

    from qtj_simulator.engines import EngineName
    from qtj_trainer.loop.synchronous import Synchronous
    from qtj_trainer.loop.task import Task
    from qtj_trainer.stored.position import Position
    from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

    options = QcnnOptions(
        qubits=case.qubits, batch_size=case.batch, rounds=_ENDLESS_ROUNDS, engine=EngineName(engine)
    )  # fmt: skip
    task = Task.of(Qcnn(), options)
    loop = Synchronous(task, tf.distribute.get_strategy())
    few, steps = task.training.inputs[: case.batch], steps_of(case)
    positions = loop.positions(Position(), lambda step: step % steps == 0)  # a measurement begins and ends with a call
    return Simulator(
        lambda: np.asarray(loop.model(few)), lambda: np.array([next(positions).step for _ in range(steps)], float)
    )


def trainer_fused(case: Case, _: int) -> Simulator:
    """The trainer with our engine."""
    return _trainer(case, "fused")


def trainer_tfq(case: Case, _: int) -> Simulator:
    """The trainer with TensorFlow Quantum."""
    return _trainer(case, "tfq")
