"""The Keras layer: a parametrised quantum circuit with learned angles, for all engines."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Self

import cirq
import sympy
import tensorflow as tf
import tf_keras

from qtj_simulator.engines import EngineDevice, EngineName, Precision
from qtj_simulator.fused.device import NoGpuError, chosen_device
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.op import FusedOp, FusedOpOnCard, operation_for
from qtj_simulator.initial_angles import Learned
from qtj_simulator.specification import Readouts, Specification, Symbols, specified

__all__ = ["PQC", "expectation_layer"]

log = logging.getLogger("qtj_simulator")

Operation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


# Saved models have this name: the layer was of that package.
@tf_keras.saving.register_keras_serializable("qtj_trainer")
class PQC(tf_keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Expectation values of a parametrised circuit, with derivatives by its data angles and learned angles.

    It replaces `tfq.layers.PQC` and `tfq.layers.ControlledPQC`. Its inputs are angles instead of serialised circuits.
    The variable of the learned angles and its initial values are the same for all engines, and for both precisions.
    The fused engine has first and second derivatives, TensorFlow Quantum first ones.
    """

    def __init__(
        self,
        circuit: cirq.AbstractCircuit,
        readouts: Readouts,
        *,
        inputs: Symbols = (),
        weights: Symbols = (),
        seed: int | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        engine: str = EngineName.FUSED,
        dtype: str = "float32",
        device: str | None = None,
        **keras: Any,
    ) -> None:
        """Plans the circuit.

        Args:
            circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
            readouts: The observables: one, or a list.
            inputs: The symbols that a batch sets, one column each.
            weights: The symbols that the layer learns.
            seed: Seed of the initial angles, which are uniform in [0, 2π). Without one they follow
                `tf.keras.utils.set_random_seed`, as the weights of other layers do.
            initializer: What draws the initial angles instead: an initializer of Keras, or its name.
            regularizer: A regularizer of Keras for the angles.
            constraint: A constraint of Keras for the angles.
            engine: "fused" or "tfq". If the fused engine does not support the circuit, TensorFlow Quantum simulates it,
                and the log has a warning.
            dtype: "float32", or "float64" for complex128 amplitudes: of the learned angles, the values and the slopes.
                TensorFlow Quantum has only "float32".
            device: Where the fused engine computes, see `expectation_engine`. On a GPU, graphs of the layer run in this
                process only.
            keras: `name` and `trainable`, as for any layer.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If no engine supports the circuit in this precision, or there are both a seed and an
                initializer; the message has the reason.
        """
        precision = Precision.of(dtype)
        super().__init__(dtype=dtype, **keras)
        self._specification = specified(circuit, readouts, inputs, weights)
        self._seed, self._wanted, self._device = seed, EngineName(engine), device
        self._learned = Learned(seed, initializer, regularizer, constraint)
        self._operation = _operation(self._wanted, self._specification, precision, chosen_device(device))
        self.input_spec = tf_keras.layers.InputSpec(ndim=2, axes={-1: len(self._specification.inputs)})
        self._angles = self._learned.variable(self, len(self._specification.weights))

    @property
    def engine(self) -> EngineName:
        """The engine that simulates the circuit."""
        return EngineName.FUSED if isinstance(self._operation, FusedOp) else EngineName.TFQ

    @property
    def device(self) -> EngineDevice:
        """Where it simulates: `cpu` or `gpu`."""
        return EngineDevice.GPU if isinstance(self._operation, FusedOpOnCard) else EngineDevice.CPU

    @property
    def specification(self) -> Specification:
        """The circuit with its readouts and symbols."""
        return self._specification

    def bound(self) -> cirq.AbstractCircuit:
        """Returns the circuit with the current learned angles as numbers; the data angles stay symbols."""
        [angles] = self.get_weights()
        values = {symbol: float(angle) for symbol, angle in zip(self._specification.weights, angles, strict=True)}
        return cirq.resolve_parameters(self._specification.circuit, values)

    def explain(self) -> str:
        """Describes how the fused engine simulates the circuit."""
        return self._operation.plan.explain() if isinstance(self._operation, FusedOp) else "TensorFlow Quantum"

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns (batch, readouts) for (batch, inputs), in the dtype of the layer."""
        with tf.name_scope("engine"):  # by which a profile shows it, and its gradient
            return self._operation(tf.cast(inputs, self.dtype), tf.convert_to_tensor(self._angles))

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration from which `from_config` makes the same layer, with initial weights."""
        keras = {name: value for name, value in super().get_config().items() if name in {"name", "trainable", "dtype"}}
        own = {"seed": self._seed, **self._learned.to_config(), "engine": str(self._wanted), "device": self._device}
        return {**keras, **self._specification.to_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Makes a layer from what `get_config` returned."""
        specification = Specification.from_config(config)
        return cls(**{**config, **specification._asdict()})


def expectation_layer(
    circuit: cirq.Circuit,
    readouts: Readouts,
    *,
    inputs: Sequence[sympy.Symbol],
    weights: Sequence[sympy.Symbol],
    seed: int,
    engine: str = EngineName.FUSED,
    dtype: str = "float32",
    device: str | None = None,
    name: str = "expectation",
) -> PQC:
    """Builds the layer that maps data angles to expectation values and learns the other angles.

    All examples use the same circuit; an example is its row of data angles. So a batch is an array of floats, which can
    be split over workers.

    Args:
        circuit: The circuit, which starts from |0...0⟩. Its symbols are those of `inputs` and `weights`, each once.
        readouts: The observables.
        inputs: The symbols that a batch sets.
        weights: The symbols that the layer learns.
        seed: Seed of the initial weights.
        engine: The engine, see `PQC`.
        dtype: The precision, see `PQC`.
        device: Where the engine computes, see `PQC`.
        name: Name of the layer.

    Returns:
        A layer from (batch, len(inputs)) to (batch, len(readouts)), both of `dtype`.

    Raises:
        ValueError: If `inputs` and `weights` are not the symbols of the circuit, or no engine supports the circuit.
    """
    unused = {str(symbol) for symbol in (*inputs, *weights)} - cirq.parameter_names(circuit)
    if unused:
        raise ValueError(f"the circuit does not have the symbols {', '.join(sorted(unused))}")
    where: dict[str, Any] = {"engine": engine, "dtype": dtype, "device": device}
    return PQC(circuit, readouts, inputs=inputs, weights=weights, seed=seed, name=name, **where)


def _operation(
    engine: EngineName, specification: Specification, precision: Precision, device: EngineDevice
) -> Operation:
    unsupported = None
    if engine is EngineName.FUSED:
        try:
            return operation_for(specification, precision, device)
        except NoGpuError as problem:
            raise ValueError(f"{problem}: {problem.remedy}") from problem
        except UnsupportedError as problem:
            unsupported = problem
    if device is EngineDevice.GPU:
        raise ValueError(_refusal(unsupported, "TensorFlow Quantum computes on the processor: take device cpu or auto"))
    if precision is Precision.DOUBLE:
        why = "TensorFlow Quantum computes in single precision only: take dtype float32"
        raise ValueError(_refusal(unsupported, why))
    from qtj_simulator.tfq_op import TfqOp

    try:
        operation = TfqOp(specification)
    except ValueError as problem:
        why = f"TensorFlow Quantum does not take the circuit: {problem}"
        raise ValueError(_refusal(unsupported, why)) from problem
    if unsupported:
        log.warning("TensorFlow Quantum simulates instead of the fused engine: %s", unsupported)
    return operation


def _refusal(unsupported: UnsupportedError | None, why: str) -> str:
    """Returns why no engine takes a circuit, or what makes the fused one take it."""
    if unsupported is None:
        return why
    return unsupported.sentence if unsupported.remedy else f"{unsupported}, and {why}"
