"""What a program sees when it imports TensorFlow and our layers, in this order or another."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.processes import base_environment

LAYER = """
import cirq, sympy
from qtj_simulator import PQC
qubit, angle = cirq.LineQubit(0), sympy.Symbol("a")
layer = PQC(cirq.Circuit(cirq.rx(angle)(qubit)), [cirq.Z(qubit)], weights=[angle])
tf.keras.Sequential([tf.keras.Input((0,)), layer])
"""


def run(text: str, folder: Path) -> tuple[int, str]:
    clean = {name: value for name, value in base_environment().items() if not name.startswith("TF_")}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("import qtj_simulator", marks=pytest.mark.slow),
        "from qtj_trainer import Program; Program(epochs=1)",
    ],
)
def test_tensorflow_prints_nothing_when_a_program_imports_it(first: str, tmp_path: Path) -> None:
    loader = "assert tf.__loader__ is tf.__spec__.loader and tf.__loader__.get_source"

    assert run(f"{first}\nimport tensorflow as tf\n{loader}\n{LAYER}", tmp_path) == (0, "")


def test_keras_3_that_was_used_before_is_told_by_its_remedy(tmp_path: Path) -> None:
    code, errors = run(f"import tensorflow as tf\ntf.keras.utils.set_random_seed(1)\n{LAYER}", tmp_path)

    assert code == 1
    assert (
        "tf.keras is Keras 3 here, and takes no layer of Keras 2, such as PQC: import qtj_simulator or qtj_trainer "
        "before tf.keras is first used, or write tf_keras in place of tf.keras\n"
    ) in errors
