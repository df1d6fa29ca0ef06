"""Quantum convolutional network that detects excitations of a cluster state.

An example is the cluster state with one qubit rotated by rx(theta). A small rotation keeps its phase (label +1), a
large one excites it (label -1). The sign of the prediction is the class. It has the three models of the
TensorFlow Quantum tutorial:

    hybrid              one convolution and one pooling; half of the qubits are read out, and two dense layers follow
    hybrid, filters     several such circuits in parallel, each with its own angles, before the dense layers
    pure                convolution and pooling until one qubit is left; its expectation value is the prediction

A user's own file (`--data`) has other examples: for every qubit the angle of its rx, and a label of ±1.
"""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

import qtj_contract as contract
from qtj_contract.memory import Circuits, ReplicaMemory, memory_of
from qtj_simulator.engines import EngineDevice, EngineName, Precision, default_threads
from qtj_trainer.errors import UserError
from qtj_trainer.workloads.options import Options, option
from qtj_trainer.workloads.own_data import SUFFIXES, OwnData, own_data, split_rows
from qtj_trainer.workloads.qcnn_circuit import HybridCircuit, hybrid_circuit, pure_circuit
from qtj_trainer.workloads.workload import Answers, Arrays, Examples, Split, Workload

if TYPE_CHECKING:
    import tensorflow as tf
    import tf_keras

__all__ = ["HybridCircuit", "Model", "Qcnn", "QcnnOptions", "hybrid_circuit", "pure_circuit", "takes_whole_steps"]

_TRAINING_SHARE = 0.7
_HIDDEN_UNITS = 8
_QUBITS = 8
_OF_DATA = 0
"""Value of --qubits: the data decides the number of qubits."""

_SHORT = 1 << 20
"""Bytes of the states of all examples of a step: 12 qubits and 32 examples, for which one thread takes 2 ms."""

log = logging.getLogger("qtj_trainer")


class Model(StrEnum):
    """What makes the prediction: dense layers after the circuit, or the circuit itself."""

    HYBRID = "hybrid"
    PURE = "pure"


_PLACES = {EngineDevice.CPU: "processor", EngineDevice.GPU: "GPU"}
_BUFFERS = {Model.HYBRID: 1, Model.PURE: 8}
"""Layers of the circuit before which a state is stored (`Plan.together`), at most."""


@dataclass(frozen=True, kw_only=True)
class QcnnOptions(Options):
    """Options of the QCNN."""

    model: Model = option(
        Model.HYBRID.value,
        "One layer of the circuit before dense ones (hybrid), or all layers to the last qubit (pure).",
    )
    qubits: int = option(
        _OF_DATA, "Qubits of the cluster state; each one more doubles time and memory. 0 takes as many as an example of"
        f" --data has angles, and {_QUBITS} without.",
        at_least=contract.MIN_QUBITS, at_most=contract.MAX_QUBITS, env=contract.Env.QUBITS,
    )  # fmt: skip
    filters: int = option(
        1, "Circuits side by side in the hybrid model.", at_least=1, at_most=1024, env=contract.Env.FILTERS
    )
    rounds: int = option(
        20, "Examples to generate for each qubit where there is no --data, training and held-out together.",
        at_least=1, at_most=100_000,
    )  # fmt: skip
    data: str = option(
        "", "Examples of your own: an .npz file with the arrays angles and labels, or a .csv file with the label in the"
        " last column. gs://BUCKET/PATH, file:///PATH or a path. Generated if empty.", added=True,
    )  # fmt: skip
    data_sha256: str = option("", "The digest that the file of --data must have. [default: the one it has]", added=True)
    engine: EngineName = option(
        EngineName.FUSED.value, "What simulates the circuits: our engine (fused), or TensorFlow Quantum (tfq)."
    )
    precision: Precision = option(
        Precision.SINGLE.value, "Precision of amplitudes and weights. Data and predictions are in single precision.",
        env=contract.Env.PRECISION, added=True,
    )  # fmt: skip
    engine_device: EngineDevice = option(
        EngineDevice.CPU.value, "Where our engine simulates: on the processor (cpu); on a GPU, or not at all (gpu); or"
        " on a GPU if there is one that can be used and has room, and otherwise on the processor (auto).",
        env=contract.Env.ENGINE_DEVICE, added=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.qubits == _OF_DATA and not self.data:
            object.__setattr__(self, "qubits", _QUBITS)
        super().__post_init__()
        if self.data and not self.data.lower().endswith(SUFFIXES):
            raise UserError(f"--data is {self.data}: it must end in {' or '.join(SUFFIXES)}")
        if self.data_sha256 and not self.data:
            raise UserError("--data-sha256 is the digest of a file, and --data names none: leave it out or name one")
        if self.model == Model.PURE and self.filters > 1:
            raise UserError(f"--filters is {self.filters} and --model is pure: only the hybrid model has filters")
        if self.precision == Precision.DOUBLE and self.engine == EngineName.TFQ:
            raise UserError(
                "--precision is double and --engine is tfq, which has single precision only: take --engine fused"
            )

        if self.engine_device == EngineDevice.GPU and self.engine == EngineName.TFQ:
            raise UserError(
                "--engine-device is gpu and --engine is tfq, which computes on the processor: take --engine fused"
            )

    @classmethod
    def from_record(cls, recorded: Mapping[str, Any]) -> Self:
        """See `Options.from_record`. What was trained on a GPU can be used without one."""
        options = super().from_record(recorded)
        on_gpu = options.engine_device == EngineDevice.GPU
        return replace(options, engine_device=EngineDevice.AUTO) if on_gpu else options

    @classmethod
    def problem_with(cls, name: str, value: float) -> str:
        """See `Options.problem_with`. The data may decide the number of qubits."""
        return "" if name == "qubits" and value == _OF_DATA else super().problem_with(name, value)

    def completed(self) -> Self:
        """Returns the options with the number of qubits and the digest of the data."""
        if not self.data:
            return self
        data = self.own_data()
        qubits = data.angles.shape[1]
        if self.qubits not in {_OF_DATA, qubits}:
            raise UserError(
                f"--qubits (spec.circuit.qubits) is {self.qubits}, and an example of {self.data} has {qubits} angles:"
                f" make it {qubits}"
            )
        return replace(self, qubits=qubits, data_sha256=data.sha256)

    def own_data(self) -> OwnData:
        """Reads the examples of --data.

        Raises:
            UserError: If the file has an error, or its digest is not `data_sha256`.
        """
        data = own_data(self.data)
        if self.data_sha256.lower() not in {"", data.sha256}:
            raise UserError(
                f"{self.data} has sha256 {data.sha256[:12]}... and not {self.data_sha256[:12]}...: it was changed, so"
                " restore it, or train with another --data-sha256"
            )
        return data

    def affecting_numbers(self) -> dict[str, Any]:
        """See `Options.affecting_numbers`. The digest of the data replaces its address and the generated examples."""
        values = super().affecting_numbers()
        ignored = {"data", "rounds"} if self.data_sha256 else set()
        return {name: value for name, value in values.items() if name not in ignored}


class Qcnn(Workload):
    """The QCNN of the TensorFlow Quantum tutorial."""

    name: ClassVar[str] = "qcnn"
    summary: ClassVar[str] = "Quantum convolutional network that finds excitations of a cluster state."
    options: ClassVar[type[Options]] = QcnnOptions
    scores: ClassVar[tuple[str, ...]] = ("mse", "signAccuracy")
    accuracy: ClassVar[str | None] = "signAccuracy"

    def split(self, options: QcnnOptions) -> Split:
        """Splits the examples of --data, or draws `rounds` rotations for each qubit; 70 % are for training."""
        if options.data:
            return _split_of(options)
        random = np.random.default_rng(options.seed)
        count = options.rounds * options.qubits
        theta = random.uniform(-np.pi, np.pi, count).astype(np.float32)
        columns = {
            "theta": theta,
            "qubit": np.tile(np.arange(options.qubits, dtype=np.int32), options.rounds),
            "label": np.where(np.abs(theta) <= np.pi / 2, 1, -1).astype(np.float32),
        }
        return Split.at(columns, _TRAINING_SHARE)

    def encode(self, examples: Arrays, options: QcnnOptions) -> Examples:
        """Returns one angle for each qubit of each example: generated examples have one angle that is not zero."""
        if "angles" in examples:
            return Examples(examples["angles"], examples["label"])
        turns = np.zeros((len(examples["theta"]), options.qubits), np.float32)
        turns[np.arange(len(turns)), examples["qubit"]] = examples["theta"]
        return Examples(turns, examples["label"].astype(np.float32))

    def model(self, options: QcnnOptions) -> "tf_keras.Model":
        """Builds expectation values; in the hybrid model, a dense layer of 8 and one of 1 follow, both linear."""
        import tf_keras

        from qtj_simulator import expectation_layer
        from qtj_simulator.fused.device import NoGpuError

        built = _built(options.model, options.qubits)
        first, hidden, answer, *more = _seeds(options, 2 + options.filters)
        simulated = partial(
            expectation_layer, built.circuit, built.readouts, inputs=built.inputs, weights=built.weights
        )
        names, dtype = self.readouts(options), Precision(options.precision).dtype
        where = {"engine": options.engine, "device": options.engine_device}
        try:
            layers = [
                simulated(seed=seed, name=name, dtype=dtype, **where)
                for seed, name in zip([first, *more], names, strict=True)
            ]
        except ValueError as problem:  # only the GPU, or the size of these circuits, can be wrong
            remedy = "" if isinstance(problem.__cause__, NoGpuError) else ": lower --qubits"
            raise UserError(f"{problem}{remedy}") from problem
        if options.engine_device != EngineDevice.CPU:
            log.info("circuits are computed on the %s", _PLACES[layers[0].device])
        turns = tf_keras.Input((options.qubits,), name="turns")
        values = [layer(turns) for layer in layers]
        if options.model == Model.HYBRID:
            read = values[0] if len(values) == 1 else tf_keras.layers.Concatenate(name="filters", dtype=dtype)(values)
            glorot, dense = tf_keras.initializers.GlorotUniform, partial(tf_keras.layers.Dense, dtype=dtype)
            inner = dense(_HIDDEN_UNITS, kernel_initializer=glorot(hidden), name="hidden")(read)
            values = [dense(1, kernel_initializer=glorot(answer), name="answer")(inner)]
        # This last layer turns predictions into single precision, in which labels are.
        return tf_keras.Model(turns, tf_keras.layers.Reshape((), name="prediction")(values[0]), name=self.name)

    def errors(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "tf.Tensor":
        """Returns squared errors, float32 (examples,)."""
        return (labels - predictions) ** 2

    def score(self, labels: "tf.Tensor", predictions: "tf.Tensor") -> "dict[str, tf.Tensor]":
        """Returns the squared error, and whether the sign is right: Keras' "accuracy" needs labels 0 and 1, not ±1."""
        import tensorflow as tf

        right = tf.cast(labels * predictions > 0, labels.dtype)
        return {"mse": self.errors(labels, predictions), "signAccuracy": right}

    def classes(self, options: QcnnOptions) -> tuple[str, ...]:
        """Returns the names of the labels -1 and +1."""
        return ("-1", "+1") if options.data else ("excited", "not excited")

    def answers(self, labels: NDArray[Any], predictions: NDArray[Any]) -> Answers:
        """Returns the sign, with the output of the model as the score."""
        return Answers((labels > 0).astype(int), (predictions > 0).astype(int), predictions)

    def fingerprint(self, options: QcnnOptions) -> str:
        """Returns a digest of the circuit, its readouts and the layers after it."""
        structure = f"{_as_json(options.model, options.qubits)} {options.model} {options.filters}"
        return hashlib.sha256(structure.encode()).hexdigest()

    def readouts(self, options: QcnnOptions) -> tuple[str, ...]:
        """Returns the name of the layer of expectation values of each filter."""
        if options.filters == 1:
            return ("expectation",)
        return tuple(f"expectation_{each}" for each in range(options.filters))

    def as_run(self, options: QcnnOptions, model: "tf_keras.Model") -> QcnnOptions:
        """Returns the options with the engine that has simulated and its device, as the first layer has them."""
        first, *_ = self.readouts(options)
        layer = model.get_layer(first)
        return replace(options, engine=layer.engine, engine_device=layer.device)

    def drawing(self, options: QcnnOptions) -> str:
        """Returns the circuit as text, with time from top to bottom: its width is the number of qubits."""
        return _as_text(options.model, options.qubits)

    def takes_whole_steps(self, options: QcnnOptions) -> bool:
        """Returns whether the circuits are so small that an exchange would take longer than a step."""
        return takes_whole_steps(_circuits(options))

    def memory(self, options: QcnnOptions, replicas: int = 1) -> ReplicaMemory:
        """Returns the memory for circuits of this size."""
        circuits = _circuits(options)
        shares = 1 if takes_whole_steps(circuits) else replicas
        return memory_of(replace(circuits, batch=-(-circuits.batch // shares), replicas=replicas))


def _circuits(options: QcnnOptions) -> Circuits:
    """Returns the circuits of a whole step."""
    return Circuits(
        qubits=options.qubits,
        filters=options.filters,
        batch=min(options.batch_size, _training_examples(options)),
        threads=default_threads(),
        amplitude_bytes=Precision(options.precision).bits // 4,
        buffers=_BUFFERS[options.model],
        tfq=options.engine == EngineName.TFQ,
    )


def _split_of(options: QcnnOptions) -> Split:
    data = options.own_data()
    parts = split_rows(data.labels, _TRAINING_SHARE, options.seed)
    training, held_out = ({"angles": data.angles[rows], "label": data.labels[rows]} for rows in parts)
    log.info("data: %d training examples and %d held-out examples from %s", *map(len, parts), options.data)
    return Split(training, held_out)


def _training_examples(options: QcnnOptions) -> int:
    if options.data:
        return len(split_rows(options.own_data().labels, _TRAINING_SHARE, options.seed)[0])
    return int(_TRAINING_SHARE * options.rounds * options.qubits)


# Each of these takes as long as some steps of a training, which asks for it two to six times.
@cache
def _built(model: Model, qubits: int) -> HybridCircuit:
    """Returns a circuit that nobody may change."""
    return (hybrid_circuit if model == Model.HYBRID else pure_circuit)(qubits)


@cache
def _as_json(model: Model, qubits: int) -> str:
    import cirq

    built = _built(model, qubits)
    return str(cirq.to_json([built.circuit, built.readouts]))


@cache
def _as_text(model: Model, qubits: int) -> str:
    return str(_built(model, qubits).circuit.to_text_diagram(transpose=True))


def _seeds(options: QcnnOptions, count: int) -> list[int]:
    return [int(seed) for seed in np.random.SeedSequence(options.seed).generate_state(count) >> 1]


def takes_whole_steps(circuits: Circuits) -> bool:
    """Returns whether each process takes whole steps, and exchanges nothing within an epoch.

    Processes that share each step exchange their gradients in it. Between two processes of one machine that takes a
    millisecond or two, however few numbers there are: it is the latency of gRPC (docs/benchmarks/README.md). A shorter
    step is done sooner by a process that computes all of it:

        shared    [half][ exchange ][half][ exchange ][half][ exchange ]
        whole     [whole ][whole ][whole ][whole ][whole ]

    The choice depends on the options alone, so all processes make the same one, and so does the next attempt.

    Args:
        circuits: All circuits of a step, with the batch of all processes.
    """
    if circuits.tfq:  # a step takes 60 ms with the smallest circuits
        return False
    layers = 2 if circuits.buffers > 1 else 1  # each of the later ones has half of the gates
    state = circuits.amplitude_bytes << circuits.qubits
    return circuits.batch * circuits.filters * layers * state <= _SHORT
