"""An engine on a card, with the one on the processor behind it."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from numpy.typing import NDArray

from qtj_contract import STATES, statevector_bytes
from qtj_contract.quantities import in_words
from qtj_simulator.fused.cuda.compiler import UnusableError
from qtj_simulator.fused.cuda.driver import Card
from qtj_simulator.fused.cuda.engine import CudaEngine, plan_for_card
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.plan import FusedCircuit

__all__ = ["EngineOnCard"]

Array = NDArray[Any]
Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class EngineOnCard(Engine):
    """An engine whose values and gradients are computed on a card, and second derivatives on the processor.

    The processor computes everything once the card fails or has no memory left, and the log says so.
    """

    def __init__(self, circuit: FusedCircuit, card: Card, *, threads: int, variant: str) -> None:
        """Prepares both engines.

        Args:
            circuit: The circuit.
            card: A card that is trusted.
            threads: Of the engine on the processor.
            variant: Of that engine. The card computes in its precision.

        Raises:
            MemoryError: If the processor has not enough memory.
            UnusableError: If the card fails, or has no room for the gradient of one example.
        """
        super().__init__(*circuit.plans(lanes(variant)), threads=threads, variant=variant)
        bits = 64 if variant.endswith("double") else 32
        self._card: CudaEngine | None = _opened(circuit, card, bits)

    def values(self, inputs: Array, weights: Array) -> Array:
        """See `Engine.values`."""
        return self._tried(lambda card: card.values(inputs, weights), lambda: Engine.values(self, inputs, weights))

    def gradients(self, inputs: Array, weights: Array, upstream: Array) -> tuple[Array, Array]:
        """See `Engine.gradients`."""
        return self._tried(
            lambda card: card.gradients(inputs, weights, upstream),
            lambda: Engine.gradients(self, inputs, weights, upstream),
        )

    def _tried(self, on_card: Callable[[CudaEngine], Result], otherwise: Callable[[], Result]) -> Result:
        if self._card:
            try:
                return on_card(self._card)
            except (MemoryError, UnusableError) as problem:
                self._give_up(problem)
        return otherwise()

    def _give_up(self, problem: Exception) -> None:
        _log.warning("the processor computes this circuit from now on: %s", problem)
        self._card = None


def _opened(circuit: FusedCircuit, card: Card, bits: int) -> CudaEngine:
    with suppress(MemoryError):  # as one that needs more than is free
        engine = CudaEngine(plan_for_card(circuit, bits=bits), card, bits=bits)
        if engine.needed <= card.free:
            return engine
    needed = in_words(STATES * statevector_bytes(circuit.qubits, bytes_per_amplitude=bits // 4))
    raise UnusableError(
        f"a gradient of {circuit.qubits} qubits needs {needed}, and {card.name} has {in_words(card.free)} free"
    )
