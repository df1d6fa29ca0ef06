"""The tests of tests/keras with each backend, in a process of its own: Keras 3 has one backend for its whole life."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.missing import skip_or_fail
from tests.torch import PYTHON
from tests.trainer.processes import REPOSITORY


@pytest.mark.parametrize(
    ("backend", "python"),
    [
        ("tensorflow", Path(sys.executable)),
        pytest.param("jax", Path(sys.executable), marks=pytest.mark.slow),
        pytest.param("torch", PYTHON, marks=pytest.mark.slow),  # its libraries are 5 GB
    ],
    ids=["tensorflow", "jax", "torch"],
)
def test_the_layer_of_keras(backend: str, python: Path) -> None:
    if not python.exists():
        skip_or_fail("PyTorch is not here: make .venv-torch/installed")
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::FutureWarning"]

    ended = subprocess.run(
        [str(python), "-m", "pytest", *options, "tests/keras/layer.py"],
        cwd=REPOSITORY,
        env=os.environ | {"KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_model_of_tensorflow_computes_the_same_with_jax(tmp_path: Path) -> None:
    """What the manual says of backends: a saved model has nothing of the one that made it."""
    program = (
        "import keras; from tests.keras.layer import ROWS, model_of\n"
        "model_of().save('model.keras') if keras.backend.backend() == 'tensorflow' else None\n"
        "print(keras.saving.load_model('model.keras').predict(ROWS, verbose=0).tolist())"
    )

    first, second = (
        subprocess.check_output(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=os.environ | {"KERAS_BACKEND": backend, "PYTHONPATH": str(REPOSITORY)},
            text=True,
        ).splitlines()[-1]
        for backend in ("tensorflow", "jax")
    )

    np.testing.assert_allclose(json.loads(first), json.loads(second), atol=1e-5)
