"""Expectation values as a layer of Keras 3, on its backends TensorFlow, JAX and PyTorch."""

from collections.abc import Callable, Mapping
from math import pi
from typing import Any, Self

import cirq
import keras  # type: ignore[import-untyped]

from qtj_simulator.engines import Precision
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.specification import Readouts, Specification, Symbols, specified

__all__ = ["KerasLayer"]

Function = Callable[[Any, Any], Any]


@keras.saving.register_keras_serializable("qtj_simulator")
class KerasLayer(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Expectation values of a circuit, with learned angles and derivatives by angles and inputs.

    A model that has it can be saved with one backend and loaded with another. It computes on the CPU. Keras' type of
    the layer is that of angles, amplitudes and values: float32 for complex64, float64 for complex128.
    """

    def __init__(
        self,
        circuit: cirq.AbstractCircuit,
        readouts: Readouts,
        *,
        inputs: Symbols = (),
        weights: Symbols = (),
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        **options: Any,
    ) -> None:
        """Plans the circuit.

        Args:
            circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
            readouts: The observables: one, or a list.
            inputs: The symbols that a batch sets, one column each.
            weights: The symbols that the layer learns.
            initializer: An initializer of Keras for the angles, or its name. Without one, they are uniform in [0, 2π),
                and follow `keras.utils.set_random_seed`.
            regularizer: A regularizer of Keras for the angles.
            constraint: A constraint of Keras for the angles.
            options: `name`, `trainable` and `dtype`, as for any layer.

        Raises:
            TypeError: If an argument has the wrong type.
            UnsupportedError: If the engine does not support the circuit or the machine; the message has the reason.
            ValueError: If the circuit has other symbols, or the type or the backend is none of those above.
        """
        super().__init__(**options)
        self._specification = specified(circuit, readouts, inputs, weights)
        uniform = keras.initializers.RandomUniform(0, 2 * pi)
        self._initializer = uniform if initializer is None else keras.initializers.get(initializer)
        self._regularizer = keras.regularizers.get(regularizer)
        self._constraint = keras.constraints.get(constraint)
        self._function = _function(self._specification, Precision.of(self.compute_dtype))
        self.supports_jit = keras.backend.backend() == "jax"
        self.input_spec = keras.layers.InputSpec(ndim=2, axes={-1: len(self._specification.inputs)})

    def build(self, input_shape: Any) -> None:
        """Makes the variable `angles`."""
        self.angles = self.add_weight(
            name="angles",
            shape=(len(self._specification.weights),),
            initializer=self._initializer,
            regularizer=self._regularizer,
            constraint=self._constraint,
        )

    def call(self, inputs: Any) -> Any:
        """Returns (batch, readouts) for (batch, inputs)."""
        angles = keras.ops.convert_to_tensor(self.angles)
        return self._function(keras.ops.cast(inputs, self.compute_dtype), angles)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
        """Returns (batch, readouts)."""
        return input_shape[0], len(self._specification.readouts)

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration from which `from_config` makes the same layer, with initial angles."""
        learned = {
            "initializer": keras.initializers.serialize(self._initializer),
            "regularizer": keras.regularizers.serialize(self._regularizer),
            "constraint": keras.constraints.serialize(self._constraint),
        }
        return {**super().get_config(), **self._specification.to_config(), **learned}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Makes a layer from what `get_config` returned."""
        return cls(**{**config, **Specification.from_config(config)._asdict()})


def _function(asked: Specification, precision: Precision) -> Function:
    """Returns the function of inputs and angles, in tensors of the backend that Keras has in this process."""
    match keras.backend.backend():
        case "tensorflow":
            return _of_tensorflow(asked, precision)
        case "jax":
            return _of_jax(asked, precision)
        case "torch":
            from qtj_simulator.torch import expectation_function

            return expectation_function(**asked._asdict(), device="cpu")
        case other:
            raise ValueError(f"the backend of Keras is {other}: the layer takes tensorflow, jax or torch")


def _of_tensorflow(asked: Specification, precision: Precision) -> Function:
    from qtj_simulator.fused.op import FusedOp

    try:
        return FusedOp(asked, precision)
    except UnsupportedError as problem:
        raise UnsupportedError(problem.sentence) from problem


def _of_jax(asked: Specification, precision: Precision) -> Function:
    import jax.numpy as jnp

    from qtj_simulator.jax import expectation_function

    if precision is Precision.DOUBLE and jnp.result_type(float) != jnp.float64:
        raise ValueError(
            'dtype is float64, which JAX does not have by default: jax.config.update("jax_enable_x64", True)'
        )
    return expectation_function(**asked._asdict(), device="cpu")
