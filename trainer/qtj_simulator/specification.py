"""What a layer computes: a circuit, its readouts and its symbols, checked before an engine gets them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import cirq
import numpy as np
import sympy

from qtj_simulator.operations import Power, parameter_names
from qtj_simulator.projectors import Projector, pauli_sum

__all__ = ["Readout", "Readouts", "Specification", "Symbols", "real_coefficient", "specified"]

Readout: TypeAlias = cirq.PauliString | cirq.PauliSum
Readouts: TypeAlias = Readout | Projector | Iterable[Readout | Projector]
Symbols = Iterable[sympy.Symbol | str]

_ROUNDING = 1e-12
"""Of a factor, the imaginary part that the conversion of a Hamiltonian leaves."""


class Specification(NamedTuple):
    """A circuit that starts from |0...0⟩, its readouts, and its symbols by who sets them.

    Attributes:
        circuit: Unitary circuit; its symbols are among `inputs` and `weights`.
        readouts: Hermitian observables.
        inputs: The symbols that each example sets.
        weights: The symbols that all examples share.
    """

    circuit: cirq.AbstractCircuit
    readouts: tuple[Readout, ...]
    inputs: tuple[sympy.Symbol, ...]
    weights: tuple[sympy.Symbol, ...]

    def to_config(self) -> dict[str, Any]:
        """Returns it as strings and lists, in which Keras stores a layer."""
        return {
            "circuit": cirq.to_json(self.circuit),
            "readouts": cirq.to_json(list(self.readouts)),
            "inputs": list(map(str, self.inputs)),
            "weights": list(map(str, self.weights)),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Restores what `to_config` returned."""
        circuit, readouts = (cirq.read_json(json_text=config[name]) for name in ("circuit", "readouts"))
        inputs, weights = (tuple(map(sympy.Symbol, config[name])) for name in ("inputs", "weights"))
        return cls(circuit, tuple(readouts), inputs, weights)


def specified(
    circuit: cirq.AbstractCircuit,
    readouts: Readouts,
    inputs: Symbols = (),
    weights: Symbols = (),
    *,
    channels: bool = False,
) -> Specification:
    """Checks the circuit of a layer with its readouts and symbols.

    Args:
        circuit: The circuit, which starts from |0...0⟩.
        readouts: One Pauli string or sum, or projector, or several. A projector becomes a Pauli sum.
        inputs: The symbols that each example sets.
        weights: The symbols that all examples share.
        channels: Whether the circuit may have operations that are not unitary.

    Returns:
        The specification. A single readout becomes a tuple of one.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the circuit is not unitary or has a qudit, a readout is not Hermitian, or a symbol is
            missing or listed twice.
    """
    made = Specification(
        circuit if channels else _circuit(circuit),
        tuple(_readouts(readouts)),
        _symbols("inputs", inputs),
        _symbols("weights", weights),
    )
    if odd := [qid for qid in sorted(circuit.all_qubits()) if qid.dimension != 2]:
        raise ValueError(f"the circuit has {odd[0]}, which has {odd[0].dimension} levels: only qubits are simulated")
    listed = Counter(map(str, (*made.inputs, *made.weights)))
    names = {name for operation in circuit.all_operations() for name in parameter_names(operation)}
    if stray := sorted(names - set(listed)):
        raise ValueError(f"the circuit has symbols that are neither inputs nor weights: {', '.join(stray)}")
    if twice := sorted(name for name, times in listed.items() if times > 1):
        raise ValueError(f"symbols are listed twice among inputs and weights: {', '.join(twice)}")
    return made


def real_coefficient(string: cirq.PauliString) -> float:
    """Returns the factor of a Pauli string.

    Raises:
        ValueError: If it is not a finite real number but for rounding: the string is not Hermitian, or has symbols.
    """
    factor = string.coefficient
    if cirq.is_parameterized(string) or not np.isfinite(factor) or abs(factor.imag) > _ROUNDING * abs(factor):
        raise ValueError(f"the readout {string} has the factor {factor}, which is not a real number")
    return complex(factor).real


def _circuit(circuit: cirq.AbstractCircuit) -> cirq.AbstractCircuit:
    if not isinstance(circuit, cirq.AbstractCircuit):
        raise TypeError(f"the circuit is a {type(circuit).__name__}: give a cirq.Circuit")
    for operation in circuit.all_operations():
        if Power.of(operation.gate) or cirq.is_parameterized(operation):
            continue
        if not cirq.has_unitary(operation):
            raise ValueError(
                f"the circuit has {operation}, which is not unitary: remove measurements, and use NoisyPQC for noise"
                " and resets"
            )
    return circuit


def _readouts(readouts: Readouts) -> Sequence[Readout]:
    one = isinstance(readouts, Readout | Projector) or not isinstance(readouts, Iterable)
    several = [_readout(each) for each in ([readouts] if one else readouts)]
    for readout in several:
        for string in readout if isinstance(readout, cirq.PauliSum) else [readout]:
            real_coefficient(string)
    return several


def _readout(readout: Any) -> Readout:
    if isinstance(readout, Projector):
        return pauli_sum(readout)
    if not isinstance(readout, Readout):
        raise TypeError(
            f"a readout is a {type(readout).__name__}: give a cirq.PauliString, cirq.PauliSum or cirq.ProjectorString"
        )
    return readout


def _symbols(name: str, symbols: Symbols) -> tuple[sympy.Symbol, ...]:
    if isinstance(symbols, str | sympy.Basic):
        raise TypeError(f"{name} is {symbols!r}: give a list of symbols")
    listed = [sympy.Symbol(each) if isinstance(each, str) else each for each in symbols]
    for each in listed:
        if not isinstance(each, sympy.Symbol):
            raise TypeError(f"{name} has {each!r}, which is not a symbol")
    return tuple(listed)
