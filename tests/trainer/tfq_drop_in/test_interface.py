"""The drop-in module has what TensorFlow Quantum has, by the same names and with the same arguments."""

import inspect
import subprocess
import sys

import pytest
import tensorflow_quantum

from qtj_simulator import tfq

LAYERS = [name for name in vars(tensorflow_quantum.layers) if name[0].isupper()]


def test_every_public_name_is_there() -> None:
    names = {name for name in vars(tensorflow_quantum) if not name.startswith("_")}

    assert names == set(tfq.__all__)
    assert set(LAYERS) == set(tfq.layers.__all__)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_takes_the_same_arguments(layer: str) -> None:
    theirs, ours = (getattr(module.layers, layer) for module in (tensorflow_quantum, tfq))

    assert _parameters(ours) == _parameters(theirs)
    assert issubclass(ours, theirs)


def test_a_program_may_import_tensorflow_first() -> None:
    program = """
import tensorflow as tf
from qtj_simulator import tfq
assert issubclass(tfq.layers.PQC, tf.keras.layers.Layer), tf.keras.__version__
"""

    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True, text=True)


def _parameters(layer: type) -> list[tuple[str, object]]:
    return [(each.name, each.kind) for each in inspect.signature(layer).parameters.values()]
