"""Replicas of a noisy layer: each has random numbers of its own, and the first has those of a layer that is alone."""

import json
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import json, sys
import cirq, tensorflow as tf
from qtj_simulator import NoisyPQC

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 3)

def values(devices, options):
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        qubit = cirq.q(0)
        layer = NoisyPQC(cirq.Circuit(cirq.X(qubit) ** 0.4), cirq.Z(qubit), seed=4, **options)
    run = lambda: strategy.experimental_local_results(strategy.run(layer, args=(tf.zeros((8, 0)),)))
    return [[each.numpy().ravel().tolist() for each in run()] for _ in range(2)]

many, one = ([f"CPU:{index}" for index in range(count)] for count in (3, 1))
options = [{"shots": 1000}, {"noise": cirq.amplitude_damp(0.2), "trajectories": 1000}]
print(json.dumps([[values(many, each), values(one, each)] for each in options]))
"""


@pytest.fixture(scope="module")
def sampled() -> list[list[list[list[list[float]]]]]:
    """By shots or noise, by number of devices, by call, by replica: the values of eight examples."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: list[list[list[list[list[float]]]]] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("case", [0, 1], ids=["shots", "noise"])
def test_no_two_replicas_have_the_same_random_numbers(sampled: list[list[list[list[list[float]]]]], case: int) -> None:
    of_three, of_one = sampled[case]
    estimates = [tuple(replica) for call in of_three for replica in call]

    assert len(set(estimates)) == len(estimates) == 6
    assert [call[0] for call in of_three] == [call[0] for call in of_one], "the first is as it is alone"
    assert np.std(estimates) < 0.1, "all estimate the same number"
