"""Replicas of a noisy layer: each has random numbers of its own, and the first has those of a layer that is alone."""

from typing import Any

import cirq
import numpy as np
import tensorflow as tf

from qtj_simulator import NoisyPQC
from tests.trainer.processes import Trainer


def test_no_two_replicas_have_the_same_random_numbers(trainer: Trainer) -> None:
    trainer.call(f"{__name__}.three_replicas")


def three_replicas() -> None:
    """In a process whose processor counts as three devices."""
    cpus = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 3)
    many, one = ([f"CPU:{index}" for index in range(count)] for count in (3, 1))
    options: list[dict[str, Any]] = [{"shots": 1000}, {"noise": cirq.amplitude_damp(0.2), "trajectories": 1000}]
    for each in options:
        of_three, of_one = estimates(many, each), estimates(one, each)
        every = [replica for call in of_three for replica in call]

        assert len(set(every)) == len(every) == 6
        assert [call[0] for call in of_three] == [call[0] for call in of_one], "the first is as it is alone"
        assert np.std(every) < 0.1, "all estimate the same number"


def estimates(devices: list[str], options: dict[str, Any]) -> list[list[tuple[float, ...]]]:
    """By call, by replica: the values of eight examples."""
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        layer = NoisyPQC(cirq.Circuit(cirq.X(cirq.q(0)) ** 0.4), cirq.Z(cirq.q(0)), seed=4, **options)
    calls = [strategy.experimental_local_results(strategy.run(layer, args=(tf.zeros((8, 0)),))) for _ in range(2)]
    return [[tuple(each.numpy().ravel().tolist()) for each in call] for call in calls]
