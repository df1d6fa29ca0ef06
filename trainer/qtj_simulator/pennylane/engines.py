"""The engines of a device, each for all circuits that differ only in angles."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import cirq
from pennylane.exceptions import DeviceError

from qtj_simulator.engines import Precision
from qtj_simulator.expectation import expectation_engine
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.pennylane.circuits import Form
from qtj_simulator.pennylane.observables import Paulis, readout
from qtj_simulator.states import StateEngine, state_engine

__all__ = ["Engines"]

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
            return expectation_engine(
                form.circuit(),
                [readout(each) for each in paulis],
                inputs=form.symbols(inputs=True),
                weights=form.symbols(inputs=False),
                dtype=self._dtype,
                threads=self._threads,
            )

    def _of_states(self, form: Form) -> StateEngine:
        with _said():
            return state_engine(
                form.circuit(),
                inputs=form.symbols(inputs=True),
                weights=form.symbols(inputs=False),
                qubits=cirq.LineQubit.range(form.wires),
                dtype=self._dtype,
                threads=self._threads,
            )


@contextmanager
def _said() -> Iterator[None]:
    """Says what an engine does not take as an error of PennyLane."""
    try:
        yield
    except (UnsupportedError, ValueError) as problem:
        raise DeviceError(f"qtj.simulator: {problem}") from problem
