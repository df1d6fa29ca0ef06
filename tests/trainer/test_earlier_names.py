"""Programs that import what has moved by its earlier names."""

import subprocess
import sys

import pytest

import qtj_simulator
import qtj_simulator.tfq
from qtj_simulator.tfq import layers


def test_the_package_of_the_layers_has_its_earlier_name() -> None:
    from qtj_trainer import simulate

    assert {name: getattr(simulate, name) for name in simulate.__all__} == {
        name: getattr(qtj_simulator, name)
        for name in ("PQC", "EngineName", "Estimate", "NoisyPQC", "expectation_layer")
    }


def test_the_trainer_has_the_layer() -> None:
    from qtj_trainer import PQC, Program

    assert PQC is qtj_simulator.PQC
    assert Program.__name__ == "Program"


def test_the_types_of_a_program_have_their_earlier_names() -> None:
    from qtj_trainer.arrays import tree
    from qtj_trainer.program import epochs
    from qtj_trainer.run.epochs import RunningEpoch
    from qtj_trainer.run.tree import State

    assert RunningEpoch is epochs.RunningEpoch
    assert State == tree.State


def test_the_interface_of_tensorflow_quantum_has_its_earlier_name() -> None:
    from qtj_trainer import tfq

    for name in qtj_simulator.tfq.__all__:
        if name != "layers":
            assert getattr(tfq, name) is getattr(qtj_simulator.tfq, name), name
    for name in layers.__all__:
        assert getattr(tfq.layers, name) is getattr(layers, name), name


@pytest.mark.slow
def test_the_earlier_names_choose_keras_2() -> None:
    program = "import qtj_trainer.simulate, tensorflow as tf; print(tf.keras.layers.Layer.__module__)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.startswith("tf_keras.")
