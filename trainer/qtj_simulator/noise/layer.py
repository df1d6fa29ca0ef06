"""The Keras layer: a parametrised circuit with noise, or measured in shots."""

from collections.abc import Sequence
from operator import index
from typing import Any, Self

import cirq
import tensorflow as tf
import tf_keras

from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.observables import read
from qtj_simulator.initial_angles import Learned, drawn_seed
from qtj_simulator.noise.channels import all_branches
from qtj_simulator.noise.circuit import Noise, NoisyCircuit, noisy_circuit, with_noise
from qtj_simulator.noise.estimators import Estimate, Estimator, Sampling, Trajectories
from qtj_simulator.noise.program import compile_program
from qtj_simulator.noise.shifts import shifts_for
from qtj_simulator.noise.unitaries import Unitaries
from qtj_simulator.specification import Readouts, Specification, Symbols, specified

__all__ = ["Estimate", "NoisyPQC"]

_TRAJECTORIES = 1000


# Saved models have this name, see PQC.
@tf_keras.saving.register_keras_serializable("qtj_trainer")
class NoisyPQC(tf_keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Estimated expectation values of a parametrised circuit with noise, or of one that is measured in shots.

    It replaces `tfq.layers.NoisyPQC`, and `tfq.layers.PQC` with `repetitions`. Its inputs and its learned angles are
    those of `PQC`. Each call takes new random numbers, which the seed and the number of calls determine.
    """

    def __init__(
        self,
        circuit: cirq.AbstractCircuit,
        readouts: Readouts,
        *,
        inputs: Symbols = (),
        weights: Symbols = (),
        noise: Noise = None,
        shots: int | None = None,
        trajectories: int | None = None,
        seed: int | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        **keras: Any,
    ) -> None:
        """Plans the circuit.

        Args:
            circuit: The circuit, which starts from |0...0⟩. It may have channels on one and two qubits, and resets.
            readouts: The observables: one, or a list.
            inputs: The symbols that a batch sets, one column each.
            weights: The symbols that the layer learns.
            noise: More noise, as Cirq's simulators take it: a `cirq.NoiseModel`, or a channel on one qubit, which acts
                on all qubits after each moment.
            shots: How often each Pauli string of a readout is measured; None for expectation values. A shot of a noisy
                circuit is a trajectory of its own. Gradients are estimated by the parameter-shift rule.
            trajectories: How many trajectories of a noisy circuit are averaged, 1000 by default. If its channels are
                mixtures of unitaries with no more branches than that, all of them are simulated instead, and values
                are exact.
            seed: Seed of the initial angles, which are uniform in [0, 2π), and of the random numbers. Without one both
                follow `tf.keras.utils.set_random_seed`, as the weights of other layers do.
            initializer: What draws the initial angles instead, as in `PQC`. The seed is then that of the random numbers
                alone.
            regularizer: A regularizer of Keras for the angles.
            constraint: A constraint of Keras for the angles.
            keras: `name` and `trainable`, as for any layer.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If the engine does not support the circuit, an operation is not a channel, the noise acts on
                other qubits, or a number is not at least 1; the message has the reason.
        """
        super().__init__(dtype="float32", **keras)
        shots, trajectories = _count("shots", shots), _count("trajectories", trajectories)
        self._specification = specified(with_noise(circuit, noise), readouts, inputs, weights, channels=True)
        self._settings = {"shots": shots, "trajectories": trajectories, "seed": seed}
        self._estimator, self._is_random = _estimator(self._specification, shots, trajectories)
        self.input_spec = tf_keras.layers.InputSpec(ndim=2, axes={-1: len(self._specification.inputs)})
        self._add_variables(Learned(None if initializer else seed, initializer, regularizer, constraint), seed)

    @property
    def specification(self) -> Specification:
        """The circuit, with the channels of the noise, its readouts and symbols."""
        return self._specification

    @property
    def is_random(self) -> bool:
        """Whether values depend on the seed: not if all branches of the noise are simulated, without shots."""
        return self._is_random

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Returns float32 (batch, readouts) for float32 (batch, inputs)."""
        return self.estimate(inputs).values

    def estimate(self, inputs: tf.Tensor) -> Estimate:
        """Returns values as the layer does, together with their variances.

        Args:
            inputs: float32 (batch, inputs).

        Returns:
            Values and variances of these values, float32 (batch, readouts) each.
        """
        with tf.name_scope("engine"):
            data = tf.cast(inputs, tf.float32)
            seed = _of_replica(tf.stack([tf.constant(self._random, tf.int64), self._calls.read_value()]))
            self._calls.assign_add(1)
            shared = tf.tile(tf.convert_to_tensor(self._angles)[tf.newaxis], [tf.shape(data)[0], 1])
            made = self._estimator(tf.concat([data, shared], axis=1), seed)
            readouts = len(self._specification.readouts)
            return Estimate(*(tf.ensure_shape(each, [None, readouts]) for each in made))

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration from which `from_config` makes the same layer, with initial weights."""
        keras = {name: value for name, value in super().get_config().items() if name in {"name", "trainable"}}
        return {**keras, **self._specification.to_config(), **self._settings, **self._learned.to_config()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Makes a layer from what `get_config` returned."""
        specification = Specification.from_config(config)
        return cls(**{**config, **specification._asdict()})

    def _add_variables(self, learned: Learned, seed: int | None) -> None:
        self._random = drawn_seed() if seed is None else seed
        self._learned, self._angles = learned, learned.variable(self, len(self._specification.weights))
        self._calls = self.add_weight(
            name="calls",
            shape=(),
            dtype=tf.int64,
            initializer="zeros",
            trainable=False,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )


def _of_replica(seed: tf.Tensor) -> tf.Tensor:
    """Returns another seed for each replica but the first: their examples have random numbers of their own."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return seed
    replica = tf.cast(context.replica_id_in_sync_group, seed.dtype)
    return tf.where(replica == 0, seed, tf.random.experimental.stateless_fold_in(seed, replica))


def _count(name: str, value: object) -> int | None:
    if value is None:
        return None
    try:
        number = None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} is {value!r}: give a whole number from 1")
    if number < 1:
        raise ValueError(f"{name} is {number}: give a whole number from 1")
    return number


def _estimator(asked: Specification, shots: int | None, trajectories: int | None) -> tuple[Estimator, bool]:
    try:
        circuit = noisy_circuit(asked.circuit, asked.readouts)
        sampling = _sampling(circuit, shots, trajectories)
        readouts = read(asked.readouts, circuit.number)
        run = Trajectories(compile_program(circuit, readouts.terms), len(readouts.terms))
        unitaries = Unitaries(circuit.blocks, _names(asked))
    except UnsupportedError as problem:
        raise ValueError(f"the fused engine does not simulate the noisy circuit: {problem.sentence}") from problem
    return Estimator(sampling, unitaries, run, readouts, shifts_for(unitaries.eigenvalues)), sampling.is_random


def _sampling(circuit: NoisyCircuit, shots: int | None, trajectories: int | None) -> Sampling:
    channels = circuit.channels
    if channels and shots and trajectories:
        raise ValueError(
            f"shots is {shots} and trajectories is {trajectories}: give one of them, because a shot of a noisy circuit"
            " is a trajectory of its own"
        )
    many = shots or trajectories or _TRAJECTORIES
    return Sampling(all_branches(channels, many), many, len(channels), shots)


def _names(asked: Specification) -> Sequence[str]:
    return [str(symbol) for symbol in (*asked.inputs, *asked.weights)]
