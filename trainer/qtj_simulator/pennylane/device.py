"""The device: what PennyLane calls, and its engines, each for all circuits that differ only in angles."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cirq
import numpy as np
import pennylane as qml
from numpy.typing import NDArray
from pennylane.devices import Device, ExecutionConfig
from pennylane.devices.default_qubit import accepted_analytic_measurement, accepted_sample_measurement
from pennylane.devices.modifiers import simulator_tracking, single_tape_support
from pennylane.devices.preprocess import (
    decompose,
    device_resolve_dynamic_wires,
    no_sampling,
    validate_device_wires,
    validate_measurements,
)
from pennylane.devices.qubit.simulate import measure_final_state
from pennylane.exceptions import DeviceError

from qtj_simulator.engines import Precision
from qtj_simulator.expectation import expectation_engine
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.pennylane.circuits import (
    Circuit,
    Form,
    Paulis,
    Tape,
    are_pauli_sums,
    has_trainable_factors,
    is_known,
    known_gates,
    observed,
    read,
    readout,
)
from qtj_simulator.states import StateEngine, state_engine

__all__ = ["SimulatorDevice"]

Array = NDArray[Any]

_GRADIENTS = {"adjoint", "best", "device"}
"""The differentiation methods of a QNode for which the engine's gradients are taken."""

_ONE_BY_ONE = {
    qml.math.Interface.JAX, qml.math.Interface.JAX_JIT, qml.math.Interface.TF, qml.math.Interface.TF_AUTOGRAPH,
}  # fmt: skip
"""JAX wants Jacobians, of one example each, and TensorFlow slopes that all have one shape."""

_KEPT = 32
"""Forms whose engines are kept; another one takes the place of what was not used for the longest time."""


class Engines:
    """Engines of one precision, made when they are first used."""

    def __init__(self, dtype: str, threads: int | None) -> None:
        """Takes what all engines have.

        Raises:
            ValueError: `dtype` is no precision.
        """
        Precision.of(dtype)
        self._dtype, self._threads = dtype, threads
        self.of_values = lru_cache(_KEPT)(self._of_values)
        self.of_states = lru_cache(_KEPT)(self._of_states)

    def __reduce__(self) -> tuple[type["Engines"], tuple[str, int | None]]:
        """A copy in another process makes its own engines."""
        return Engines, (self._dtype, self._threads)

    def _of_values(self, form: Form, paulis: tuple[Paulis, ...]) -> Engine:
        with _said():
            return expectation_engine(form.circuit(), [readout(each) for each in paulis], **self._options(form))

    def _of_states(self, form: Form) -> StateEngine:
        with _said():
            return state_engine(form.circuit(), qubits=cirq.LineQubit.range(form.wires), **self._options(form))

    def _options(self, form: Form) -> dict[str, Any]:
        symbols = {name: form.symbols(inputs=name == "inputs") for name in ("inputs", "weights")}
        return {**symbols, "dtype": self._dtype, "threads": self._threads}


@contextmanager
def _said() -> Iterator[None]:
    """Says what an engine does not take as an error of PennyLane."""
    try:
        yield
    except (UnsupportedError, ValueError) as problem:
        raise DeviceError(f"qtj.simulator: {problem}") from problem


@simulator_tracking
@single_tape_support
class SimulatorDevice(Device):  # type: ignore[misc]  # PennyLane carries no types
    """The fused engine as a device of PennyLane, with its own gradients.

    It computes expectation values of Pauli sums, and of other observables on up to four wires, without shots by the
    engine, and every other measurement and shots from the state. An angle with several values is one call.
    """

    def __init__(
        self,
        wires: Any = None,
        shots: Any = None,
        *,
        seed: Any = "global",
        dtype: str = "float64",
        threads: int | None = None,
    ) -> None:
        """Makes a device.

        Args:
            wires: The number of wires, or their labels; None: those of each circuit.
            shots: As for other devices of PennyLane.
            seed: Of shots, as for `numpy.random.default_rng`; "global" takes it from NumPy's global random numbers.
            dtype: The precision of amplitudes: "float64" for complex128, or "float32" for complex64.
            threads: The number of threads; None: $OMP_NUM_THREADS, or the processors that this process may use.

        Raises:
            ValueError: `dtype` is none of the two.
        """
        super().__init__(wires=wires, shots=shots)
        self._engines = Engines(dtype, threads)
        is_global = isinstance(seed, str) and seed == "global"
        self._random = np.random.default_rng(np.random.randint(2**31 - 1) if is_global else seed)  # noqa: NPY002

    @property
    def name(self) -> str:
        """The name by which `qml.device` finds it."""
        return "qtj.simulator"

    def setup_execution_config(self, config: Any = None, circuit: Tape | None = None) -> Any:
        """Chooses the engine's own gradients where it has them.

        Raises:
            DeviceError: A QNode has an option that this device does not have.
        """
        config = config or ExecutionConfig()
        if config.device_options:
            raise DeviceError(f"qtj.simulator has no option {', '.join(map(str, config.device_options))} for a QNode")
        if (method := config.mcm_config.mcm_method) not in {None, "deferred"}:
            raise DeviceError(f"qtj.simulator does not have mcm_method='{method}': use 'deferred'")
        config = replace(config, mcm_config=replace(config.mcm_config, mcm_method="deferred"))
        if config.gradient_method is None or not self.supports_derivatives(config, circuit):
            return config
        return replace(
            config,
            gradient_method="adjoint",
            use_device_gradient=True,
            # One call of the engine, also for many examples.
            use_device_jacobian_product=config.interface not in _ONE_BY_ONE,
            grad_on_execution=False,
        )

    def preprocess_transforms(self, execution_config: Any = None) -> Any:
        """Returns PennyLane's transforms that leave gates and measurements which this device knows."""
        program = qml.CompilePipeline()
        program.add_transform(qml.defer_measurements, allow_postselect=False)
        program.add_transform(
            decompose,
            stopping_condition=is_known,
            skip_initial_state_prep=False,
            device_wires=self.wires,
            target_gates=known_gates,
            name=self.name,
        )
        program.add_transform(device_resolve_dynamic_wires, wires=self.wires, allow_resets=False)
        program.add_transform(validate_device_wires, self.wires, name=self.name)
        program.add_transform(
            validate_measurements,
            analytic_measurements=accepted_analytic_measurement,
            sample_measurements=accepted_sample_measurement,
            name=self.name,
        )
        if execution_config and execution_config.gradient_method == "adjoint":
            program.add_transform(no_sampling, name=f"adjoint + {self.name}")
            if not execution_config.use_device_jacobian_product:
                program.add_transform(qml.transforms.broadcast_expand)
        return program

    def supports_derivatives(self, execution_config: Any = None, circuit: Tape | None = None) -> bool:
        """Whether the engine has gradients: first ones of expectation values, without shots, by the angles of gates."""
        if execution_config and not _wants_slopes(execution_config):
            return False
        if circuit is None:
            return True
        return not circuit.shots and not has_trainable_factors(circuit) and are_pauli_sums(circuit)

    def supports_vjp(self, execution_config: Any = None, circuit: Tape | None = None) -> bool:
        """Whether it has vector-Jacobian products: wherever it has gradients."""
        return self.supports_derivatives(execution_config, circuit)

    def execute(self, circuits: Any, execution_config: Any = None) -> Any:
        """Computes the results of circuits that `preprocess_transforms` has prepared."""
        return tuple(self._result(read(tape)) for tape in circuits)

    def compute_derivatives(self, circuits: Any, execution_config: Any = None) -> Any:
        """Computes the slopes of each measurement by all trainable parameters."""
        return tuple(self._jacobian(read(tape)) for tape in circuits)

    def compute_vjp(self, circuits: Any, cotangents: Any, execution_config: Any = None) -> Any:
        """Computes the slopes of sum(cotangents * results) by all trainable parameters, one call for each circuit."""
        return tuple(
            _Slopes(self._slopes(read(tape), _upstream(tape, each)))
            for tape, each in zip(circuits, cotangents, strict=True)
        )

    def _result(self, circuit: Circuit) -> Any:
        paulis = None if circuit.tape.shots else observed(circuit.tape)
        if paulis is None:
            return measure_final_state(circuit.tape, self._state(circuit), circuit.is_batched, rng=self._random)
        values = self._engines.of_values(circuit.form, paulis).values(*circuit.given()).T
        return _shaped(list(values if circuit.is_batched else values[:, 0]))

    def _state(self, circuit: Circuit) -> Array:
        rows = self._engines.of_states(circuit.form).statevectors(*circuit.given())
        rows = rows * np.exp(1j * np.broadcast_to(circuit.phase, circuit.batch))[:, np.newaxis]
        shaped: Array = rows.reshape(circuit.batch, *[2] * circuit.form.wires)
        return shaped if circuit.is_batched else shaped[0]

    def _jacobian(self, circuit: Circuit) -> Any:
        """The slopes of a value by an input are those of its own example; by others they are 0."""
        many, batch = len(circuit.tape.measurements), circuit.batch
        if circuit.is_batched:
            raise DeviceError(
                "qtj.simulator computes no Jacobian of several examples: use qml.transforms.broadcast_expand"
            )
        return _shaped([_shaped(self._slopes(circuit, row.reshape(batch, many))) for row in np.eye(many)])

    def _slopes(self, circuit: Circuit, upstream: Array) -> list[Array]:
        paulis = observed(circuit.tape)
        if paulis is None:
            raise DeviceError("qtj.simulator has gradients of expectation values: use diff_method='parameter-shift'")
        engine = self._engines.of_values(circuit.form, paulis)
        return circuit.by_parameter(*engine.gradients(*circuit.given(), upstream))


class _Slopes(tuple[Array, ...]):
    """Slopes by all parameters, each of its own shape.

    PennyLane's interface to PyTorch squeezes them as one array, to see whether there are any; NumPy would refuse shapes
    that differ.
    """

    __slots__ = ()

    def squeeze(self) -> Array:
        return np.empty(len(self))


def _wants_slopes(config: Any) -> bool:
    """Returns whether a QNode takes a device's gradients. PennyLane cannot differentiate what it takes of a device."""
    return config.gradient_method in _GRADIENTS and config.derivative_order == 1


def _upstream(tape: Tape, cotangents: Any) -> Array:
    """Returns the cotangents of a circuit as (batch, measurements)."""
    many = len(tape.measurements)
    rows = np.asarray(cotangents, np.float64).reshape(many, -1)
    return np.ascontiguousarray(rows.T)


def _shaped(results: list[Any]) -> Any:
    """Returns one result as it is, and several as a tuple, as PennyLane wants them."""
    return results[0] if len(results) == 1 else tuple(results)
