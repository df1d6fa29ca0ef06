"""What TensorFlow Quantum's tutorials do, in programs of our own that need no download.

Each takes the module `tensorflow_quantum` or what replaces it, and returns what it computed, by name. They train with
plain gradient descent: other optimizers divide by the size of a gradient, and so make rounding errors large.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import cirq
import numpy as np
import sympy
import tensorflow as tf
import tf_keras
from numpy.typing import NDArray

Array = NDArray[Any]
Results = Mapping[str, Array]
Tutorial = Callable[[Any], Results]


def hello_many_worlds(tfq: Any) -> Results:
    """A classical network learns the angles that undo a wrong preparation of a qubit; then the operator is an input."""
    qubit = cirq.GridQubit(0, 0)
    angles = sympy.symbols("theta_1 theta_2 theta_3")
    control = cirq.Circuit(cirq.rz(angles[0])(qubit), cirq.ry(angles[1])(qubit), cirq.rx(angles[2])(qubit))
    wrong = cirq.Circuit(cirq.rx(0.7)(qubit), cirq.ry(1.9)(qubit), cirq.rz(-2.3)(qubit))
    prepared, commands = tfq.convert_to_tensor([wrong] * 2), np.array([[0], [1]], np.float32)

    circuits, command = tf_keras.Input(shape=(), dtype=tf.string), tf_keras.Input(shape=(1,))
    controller = _controller()
    state = tfq.layers.ControlledPQC(control, cirq.Z(qubit))([circuits, controller(command)])
    one = _compiled(tf_keras.Model([circuits, command], state))
    first = _fitted(one, [prepared, commands], np.array([[1], [-1]], np.float32), epochs=4)

    operator, controller = tf_keras.Input(shape=(1,), dtype=tf.string), _controller()
    whole = tfq.layers.AddCircuit()(circuits, append=control)
    state = tfq.layers.Expectation()(whole, symbol_names=angles, symbol_values=controller(command), operators=operator)
    two = _compiled(tf_keras.Model([circuits, command, operator], state))
    operators = tfq.convert_to_tensor([[cirq.X(qubit)], [cirq.Z(qubit)]])
    second = _fitted(two, [prepared, commands, operators], np.array([[1], [-1]], np.float32), epochs=4)
    return {**first, **{f"{name} of two operators": values for name, values in second.items()}}


def mnist(tfq: Any) -> Results:
    """Images of 4x4 pixels, an X for each bright one, and a readout that is coupled to all of them."""
    circuit, readout = pixel_model(16)
    images, labels = bright_pixels(12, 16)
    layer = tfq.layers.PQC(circuit, readout, initializer=seeded())
    model = _compiled(tf_keras.Sequential([tf_keras.Input(shape=(), dtype=tf.string), layer]), "hinge")
    return _fitted(model, tfq.convert_to_tensor(images), labels, epochs=2)


def qcnn(tfq: Any) -> Results:
    """Which cluster states are excited: convolutions and pooling of qubits, and a dense layer on the last of them."""
    qubits = cirq.GridQubit.rect(1, 4)
    random = np.random.default_rng(2)
    turns = random.uniform(-np.pi, np.pi, 10)
    data = tfq.convert_to_tensor([cirq.Circuit(cirq.rx(turn)(random.choice(qubits))) for turn in turns])
    labels = np.where(np.abs(turns) > np.pi / 2, 1.0, -1.0).astype(np.float32)[:, np.newaxis]

    excitations = tf_keras.Input(shape=(), dtype=tf.string)
    cluster = tfq.layers.AddCircuit()(excitations, prepend=_cluster_state(qubits))
    readouts = [cirq.Z(qubit) for qubit in qubits[2:]]
    quantum = tfq.layers.PQC(_convolutions(qubits), readouts, initializer=seeded())(cluster)
    dense = tf_keras.layers.Dense(1, kernel_initializer=tf_keras.initializers.GlorotUniform(seed=4))(quantum)
    return _fitted(_compiled(tf_keras.Model(excitations, dense)), data, labels, epochs=2)


def barren_plateaus(tfq: Any) -> Results:
    """The variance of a gradient over random circuits, which falls with the number of qubits."""
    random, symbol = np.random.default_rng(3), sympy.Symbol("theta")
    variances = []
    for count in (2, 4):
        qubits = cirq.GridQubit.rect(1, count)
        circuits = tfq.convert_to_tensor([_random_circuit(qubits, symbol, 5, random) for _ in range(12)])
        operator = tfq.convert_to_tensor([[cirq.Z(qubits[0]) * cirq.Z(qubits[1])]] * 12)
        values = tf.constant(random.uniform(0, 2 * np.pi, (12, 1)), tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(values)
            results = tfq.layers.Expectation()(
                circuits, operators=operator, symbol_names=[symbol], symbol_values=values
            )
        variances.append(np.var(tape.gradient(results, values).numpy()))
    return {"gradient variances": np.array(variances)}


def gradients(tfq: Any) -> Results:
    """Derivatives of the same curve by each differentiator, exact and by differences."""
    qubit, angle = cirq.GridQubit(0, 0), sympy.Symbol("alpha")
    circuit = cirq.Circuit(cirq.Y(qubit) ** angle)
    points = tf.constant(np.linspace(0, 5, 9)[:, np.newaxis], tf.float32)
    differentiators = {
        "default": None,
        "adjoint": tfq.differentiators.Adjoint(),
        "parameter shift": tfq.differentiators.ParameterShift(),
        "forward difference": tfq.differentiators.ForwardDifference(grid_spacing=0.01),
    }
    results: dict[str, Array] = {}
    for name, differentiator in differentiators.items():
        layer = tfq.layers.Expectation(differentiator=differentiator)
        curve, slopes = [_curve(layer, circuit, points) for _ in range(2)][1]  # the engine plans what comes again
        results |= {f"value, {name}": curve, f"gradient, {name}": slopes}
    return results


def noise(tfq: Any) -> Results:
    """The same circuit without noise, and with each gate followed by a channel."""
    qubits, angle = cirq.GridQubit.rect(1, 2), sympy.Symbol("alpha")
    circuit = cirq.Circuit(cirq.H(qubits[0]), cirq.X(qubits[1]) ** angle, cirq.CNOT(*qubits))
    noisy = circuit.with_noise(cirq.depolarize(0.05))
    operators, values = [cirq.Z(qubits[1]), cirq.X(qubits[0]) * cirq.X(qubits[1])], np.array([[0.3]], np.float32)
    given: dict[str, Any] = {"operators": operators, "symbol_names": [angle], "symbol_values": values}
    exact = tfq.layers.Expectation()(circuit, **given)
    average = tfq.layers.Expectation(backend="noisy")(noisy, repetitions=20_000, **given)
    learned = tfq.layers.NoisyPQC(
        noisy, operators, repetitions=20_000, sample_based=False, initializer=tf_keras.initializers.Constant(0.3)
    )
    averages = [average.numpy(), learned(tfq.convert_to_tensor([cirq.Circuit()])).numpy()]
    return {"without noise": exact.numpy(), "sampled with noise": np.array(averages)}


TUTORIALS: tuple[Tutorial, ...] = (hello_many_worlds, mnist, qcnn, barren_plateaus, gradients, noise)


def seeded() -> Any:
    """The same initial angles in each program."""
    return tf_keras.initializers.RandomUniform(0, 2 * np.pi, seed=1)


def pixel_model(pixels: int) -> tuple[cirq.Circuit, cirq.PauliString]:
    """Returns a circuit that couples each pixel with one more qubit, and the operator on this qubit."""
    qubits, readout = cirq.GridQubit.rect(4, pixels // 4), cirq.GridQubit(-1, -1)
    circuit = cirq.Circuit(cirq.X(readout), cirq.H(readout))
    for name, gate in (("xx", cirq.XX), ("zz", cirq.ZZ)):
        circuit.append(gate(qubit, readout) ** sympy.Symbol(f"{name}{index}") for index, qubit in enumerate(qubits))
    circuit.append(cirq.H(readout))
    return circuit, 1.0 * cirq.Z(readout)


def bright_pixels(examples: int, pixels: int) -> tuple[list[cirq.Circuit], Array]:
    """Returns images as circuits, and labels of -1 and 1."""
    qubits, random = cirq.GridQubit.rect(4, pixels // 4), np.random.default_rng(0)
    images = random.random((examples, pixels)) < np.where(np.arange(examples) % 2, 0.3, 0.6)[:, np.newaxis]
    circuits = [
        cirq.Circuit(cirq.X(qubit) for qubit, bright in zip(qubits, image, strict=True) if bright) for image in images
    ]
    return circuits, np.where(np.arange(examples) % 2, -1.0, 1.0).astype(np.float32)[:, np.newaxis]


def _curve(layer: Any, circuit: cirq.Circuit, points: tf.Tensor) -> tuple[Array, Array]:
    """Returns X and Z of the only qubit at each point, and the derivatives of their sum."""
    [qubit], names = circuit.all_qubits(), sorted(cirq.parameter_names(circuit))
    with tf.GradientTape() as tape:
        tape.watch(points)
        values = layer(circuit, operators=[cirq.X(qubit), cirq.Z(qubit)], symbol_names=names, symbol_values=points)
    return values.numpy(), tape.gradient(values, points).numpy()


def _controller() -> Any:
    layers = [tf_keras.layers.Dense(units, kernel_initializer=tf_keras.initializers.GlorotUniform(seed=units))
              for units in (10, 3)]  # fmt: skip
    return tf_keras.Sequential(layers)


def _compiled(model: Any, loss: str = "mse") -> Any:
    model.compile(tf_keras.optimizers.SGD(0.05), loss)
    return model


def _fitted(model: Any, inputs: Any, labels: Array, epochs: int) -> Results:
    """Trains a model; returns its values and gradients before, and the course of its loss."""
    with tf.GradientTape() as tape:
        values = model(inputs)
        loss = tf.reduce_mean((values - labels) ** 2)
    slopes = tape.gradient(loss, model.trainable_variables)
    history = model.fit(inputs, labels, batch_size=4, epochs=epochs, shuffle=False, verbose=0).history
    return {
        "values": values.numpy(),
        "gradients": np.concatenate([each.numpy().ravel() for each in slopes]),
        "course of the loss": np.array(history["loss"]),
        "trained values": model(inputs).numpy(),
    }


def _cluster_state(qubits: list[cirq.GridQubit]) -> cirq.Circuit:
    ring = zip(qubits, [*qubits[1:], qubits[0]], strict=True)
    return cirq.Circuit(cirq.H.on_each(*qubits), [cirq.CZ(*pair) for pair in ring])


def _convolutions(qubits: list[cirq.GridQubit]) -> cirq.Circuit:
    """Turns and couples neighbours, then moves what they have into the last two."""
    names = (sympy.Symbol(f"angle{index:02}") for index in range(100))
    circuit = cirq.Circuit(_turns(qubits, names))
    for pair in zip(qubits, [*qubits[1:], qubits[0]], strict=True):
        circuit.append(gate(*pair) ** next(names) for gate in (cirq.ZZ, cirq.YY, cirq.XX))
    for source, sink in zip(qubits[:2], qubits[2:], strict=True):
        basis = cirq.Circuit(_turns([sink], names))
        circuit += cirq.Circuit(basis, _turns([source], names), cirq.CNOT(source, sink), basis**-1)
    return circuit


def _turns(qubits: Iterable[cirq.GridQubit], names: Iterator[sympy.Symbol]) -> Iterator[cirq.Operation]:
    return (gate(qubit) ** next(names) for qubit in qubits for gate in (cirq.X, cirq.Y, cirq.Z))


def _random_circuit(
    qubits: list[cirq.GridQubit], symbol: sympy.Symbol, depth: int, random: np.random.Generator
) -> cirq.Circuit:
    circuit = cirq.Circuit(cirq.ry(np.pi / 4).on_each(*qubits))
    for layer in range(depth):
        for index, qubit in enumerate(qubits):
            angle = random.uniform(0, 2 * np.pi) if layer or index else symbol
            circuit.append((cirq.rx, cirq.ry, cirq.rz)[random.integers(3)](angle)(qubit))
        circuit.append(cirq.CZ(*pair) for pair in pairwise(qubits))
    return circuit
