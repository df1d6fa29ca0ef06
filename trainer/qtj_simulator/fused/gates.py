"""Elementary gates, into which a circuit is decomposed (`reading.py`).

To add a gate to the engine, add its eigenspaces to `components`, or its decomposition to Cirq. Nothing else has to
change.
"""

from cmath import isfinite
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import pi
from typing import TypeAlias

import cirq
import numpy as np
import sympy
from numpy.typing import NDArray

__all__ = ["Angle", "Components", "Gate", "UnsupportedError", "angle_of", "components"]


_ONE_SYMBOL = "write one symbol in its place, list it among the inputs, and compute its value before the layer"


class UnsupportedError(Exception):
    """The engine does not support the circuit or a readout; the message has the reason.

    Attributes:
        remedy: What a user can do; empty if that is not known.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        """Takes the reason, which may stand within a sentence, and a remedy for who names the circuit."""
        super().__init__(reason)
        self.remedy = remedy

    @property
    def sentence(self) -> str:
        """The reason, and the remedy if there is one."""
        return f"{self}: {self.remedy}" if self.remedy else str(self)


@dataclass(frozen=True, slots=True)
class Angle:
    """A linear function of symbols, in half turns.

    Attributes:
        constant: Its value where all symbols are 0.
        slopes: Its slope for each symbol, by name, in order of names.
    """

    constant: float
    slopes: tuple[tuple[str, float], ...]

    def at(self, symbols: Mapping[str, float]) -> float:
        """Returns its value for these values of all symbols."""
        return self.constant + sum(slope * symbols[name] for name, slope in self.slopes)


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate on one or two qubits: G(t) = sum_k exp(iπ λ_k t) P_k.

    Attributes:
        qubits: Its qubits; the first is the more significant bit of the matrices' index.
        eigenvalues: λ_k, in half turns at t = 1.
        projectors: P_k, complex128 (k, 2^q, 2^q).
        angle: t; None for a fixed gate, whose only P is its matrix.
    """

    qubits: tuple[cirq.Qid, ...]
    eigenvalues: tuple[float, ...]
    projectors: NDArray[np.complex128]
    angle: Angle | None

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols its angle depends on."""
        return frozenset(name for name, _ in self.angle.slopes) if self.angle else frozenset()

    def matrix(self, symbols: Mapping[str, float]) -> NDArray[np.complex128]:
        """Returns its matrix for these values of all symbols."""
        half_turns = self.angle.at(symbols) if self.angle else 0.0
        return np.tensordot(np.exp(1j * pi * half_turns * np.array(self.eigenvalues)), self.projectors, 1)


Components: TypeAlias = tuple[tuple[float, ...], NDArray[np.complex128], sympy.Expr]
"""λ_k in half turns at exponent 1, P_k, and the exponent."""


def components(gate: cirq.Gate | None) -> Components | None:
    """Looks up eigenvalues, projectors and exponent of a gate with a symbolic exponent.

    Args:
        gate: A power of a gate, as X**t, ZZ**t, ISWAP**t or rx(t), or one of these under control.

    Returns:
        Its components; None for a gate of another kind.
    """
    if isinstance(gate, cirq.ControlledGate):
        inner = components(gate.sub_gate) if gate.num_controls() == 1 else None
        return _controlled(inner, {value for (value,) in gate.control_values.expand()}) if inner else None
    if not isinstance(gate, cirq.EigenGate):
        return None
    once = gate._with_exponent(1)  # noqa: SLF001  the methods that gates override to say just this
    if cirq.is_parameterized(once):  # symbols are not only in the exponent; such a gate is decomposed
        return None
    spaces = gate._eigen_components()  # noqa: SLF001
    eigenvalues = tuple(float(half_turns) + gate.global_shift for half_turns, _ in spaces)
    return eigenvalues, np.array([projector for _, projector in spaces], complex), gate.exponent


def _controlled(inner: Components, values: Container[int]) -> Components:
    """Returns a gate that is controlled by a qubit with one of these values."""
    eigenvalues, projectors, exponent = inner
    acts = np.array([value in values for value in range(2)], float)
    idle = np.kron(np.diag(1 - acts), np.eye(projectors.shape[1]))
    acting = [np.kron(np.diag(acts), projector) for projector in projectors]
    return (0.0, *eigenvalues), np.array([idle, *acting], complex), exponent


@lru_cache(maxsize=4096)
def angle_of(exponent: sympy.Expr) -> Angle:
    """Takes a linear function of symbols apart.

    Raises:
        UnsupportedError: If it is another function of its symbols, or not real.
    """
    if exponent.is_Symbol:
        return Angle(0.0, ((str(exponent), 1.0),))
    if not exponent.free_symbols:  # they have cancelled
        if (number := complex(exponent)).imag:
            raise UnsupportedError(f"the exponent {exponent} is not real")
        return Angle(number.real, ())
    symbols = sorted(exponent.free_symbols, key=str)
    terms = _multiple(exponent, symbols[0]) or _linear(exponent, symbols)
    if terms is None:
        raise UnsupportedError(f"the exponent {exponent} is not a linear function of its symbols", _ONE_SYMBOL)
    if not all(isfinite(value) and value.imag == 0 for value in terms.values()):
        raise UnsupportedError(f"the exponent {exponent} is not real")
    slopes = dict[str, float]()  # SymPy has several symbols of one name, if it is to assume something else of them
    for index, symbol in enumerate(symbols):
        unit = tuple(int(other == index) for other in range(len(symbols)))
        if unit in terms:
            slopes[str(symbol)] = slopes.get(str(symbol), 0.0) + terms[unit].real
    return Angle(terms.get((0,) * len(symbols), 0j).real, tuple(slopes.items()))


_Terms: TypeAlias = dict[tuple[int, ...], complex]
"""The coefficient of each product of symbols, by their powers. As numbers: SymPy's own question, `is_real`, may load
its tensors."""


def _multiple(exponent: sympy.Expr, symbol: sympy.Symbol) -> _Terms | None:
    """The terms of a number times one symbol, as most exponents are; a polynomial takes SymPy far longer."""
    factor, rest = exponent.as_independent(symbol, as_Add=False)
    return {(1,): _number(factor)} if rest == symbol and not factor.free_symbols else None


@lru_cache(maxsize=1024)
def _number(factor: sympy.Expr) -> complex:
    """SymPy takes long for such as 1/pi, which a circuit has in each rotation."""
    return complex(factor)


def _linear(exponent: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> _Terms | None:
    try:
        polynomial = sympy.Poly(exponent, *symbols)
    except sympy.PolynomialError:
        return None
    if polynomial.total_degree() > 1:
        return None
    return {index: complex(value) for index, value in polynomial.terms()}
