"""The layer of Keras 3, with the backend of $KERAS_BACKEND: values, slopes, angles, files, and a training."""

import re
from pathlib import Path
from typing import Any

import cirq
import keras  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy

from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.keras import KerasLayer
from tests.trainer.face_cases import CASE, FIRST, NO_INPUTS, A
from tests.trainer.processes import REPOSITORY

BACKEND = keras.backend.backend()
RANDOM = np.random.default_rng(5)
ROWS, WEIGHTS = RANDOM.uniform(-2, 2, (3, 2)), RANDOM.uniform(-2, 2, 2)


def layer(**options: Any) -> Any:
    made = KerasLayer(CASE.circuit, CASE.readouts, inputs=CASE.inputs, weights=CASE.weights, **options)
    made.build((None, 2))
    return made


def model_of(**options: Any) -> Any:
    given = keras.Input((2,))
    return keras.Model(given, layer(**options)(given))


def numpy(tensor: Any) -> Any:
    return keras.ops.convert_to_numpy(tensor)


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    if BACKEND != "jax":
        yield request.param
        return
    import jax

    with jax.experimental.enable_x64(request.param == "float64"):
        yield request.param


def test_values_are_those_of_cirq(dtype: str) -> None:
    made = layer(dtype=dtype)
    made.angles.assign(WEIGHTS)

    found = numpy(made(ROWS))

    assert found.dtype == dtype
    np.testing.assert_allclose(found, CASE.values(ROWS, WEIGHTS), atol=3e-5 if dtype == "float32" else 1e-8)


def test_a_step_of_fit_follows_the_slopes_of_cirq() -> None:
    model = model_of()
    model.compile(keras.optimizers.SGD(1.0), loss=lambda truth, found: keras.ops.sum(truth * found))
    model.layers[-1].angles.assign(WEIGHTS)
    upstream = RANDOM.normal(size=(3, 2))

    model.fit(ROWS, upstream, batch_size=3, verbose=0)

    nothing = np.zeros_like(ROWS)
    slopes = [CASE.slope(ROWS, WEIGHTS, upstream, (nothing, unit)) for unit in np.eye(2)]
    np.testing.assert_allclose(WEIGHTS - numpy(model.layers[-1].angles), slopes, atol=3e-4)


def test_initial_angles_follow_the_seed_of_keras() -> None:
    keras.utils.set_random_seed(3)
    first, second = (numpy(layer().angles) for _ in range(2))
    keras.utils.set_random_seed(3)
    again = numpy(layer().angles)

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)
    assert 0 <= first.min() <= first.max() < 2 * np.pi


def test_initializer_regularizer_and_constraint_are_those_of_keras() -> None:
    made = layer(initializer="ones", regularizer=keras.regularizers.L2(0.5), constraint="non_neg")

    np.testing.assert_array_equal(numpy(made.angles), np.ones(2))
    assert [float(numpy(each)) for each in made.losses] == pytest.approx([1.0])
    np.testing.assert_array_equal(numpy(made.angles.constraint(np.array([-1.0, 1.0]))), [0, 1])


def test_a_saved_model_computes_the_same(tmp_path: Path, dtype: str) -> None:
    model = model_of(dtype=dtype, constraint="non_neg", name="circuit")
    model.save(tmp_path / "model.keras")

    loaded = keras.saving.load_model(tmp_path / "model.keras")

    np.testing.assert_array_equal(loaded.predict(ROWS, verbose=0), model.predict(ROWS, verbose=0))
    assert loaded.get_layer("circuit").get_config() == model.get_layer("circuit").get_config()


def test_its_shape_is_known_before_it_computes() -> None:
    found = model_of().output

    assert (found.shape, found.dtype) == ((None, 2), "float32")


def test_a_circuit_without_inputs_has_empty_rows() -> None:
    alone = KerasLayer(NO_INPUTS.circuit, NO_INPUTS.readouts, weights=NO_INPUTS.weights)

    found = numpy(alone(np.empty((1, 0))))

    assert found == pytest.approx(np.cos(numpy(alone.angles)[None]), abs=1e-6)


def test_it_learns_within_a_model_of_a_class() -> None:
    keras.utils.set_random_seed(0)

    class Classifier(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.circuit, self.last = keras.layers.Dense(2), layer(), keras.layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            return self.last(self.circuit(self.first(inputs)))

    model = Classifier()
    model.compile(keras.optimizers.Adam(0.05), keras.losses.BinaryCrossentropy(from_logits=True))
    x = RANDOM.uniform(size=(64, 4)).astype("float32")
    history = model.fit(x, x.sum(1, keepdims=True) > 2, epochs=30, batch_size=16, verbose=0)

    assert history.history["loss"][-1] < 0.6 * history.history["loss"][0]


def test_what_it_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="dtype is float16: the layer computes in float32 or float64"):
        layer(dtype="mixed_float16")
    with pytest.raises(ValueError, match=r"expected axis -1 of input shape to have value 2"):
        layer()(np.ones((3, 1)))
    product = cirq.Circuit(cirq.rx(A * sympy.Symbol("x"))(FIRST))
    with pytest.raises(UnsupportedError, match=r".+: .+"):
        KerasLayer(product, [cirq.Z(FIRST)], inputs=["x"], weights=[A])
    if BACKEND == "jax":
        with pytest.raises(ValueError, match="dtype is float64, which JAX does not have by default"):
            layer(dtype="float64")


def test_the_code_of_the_manual_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manual = (REPOSITORY / "docs" / "how-to" / "frameworks.md").read_text()
    (code,) = re.findall(r"^## Keras 3.*?^```python\n(.*?)^```", manual, re.DOTALL | re.MULTILINE)

    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)

    assert keras.saving.load_model("model.keras").predict(np.ones((3, 4)), verbose=0).shape == (3, 1)
