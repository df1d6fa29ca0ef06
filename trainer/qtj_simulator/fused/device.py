"""Where a circuit is computed: on the processor, or on a GPU.

The variable QTJ_ENGINE_DEVICE of the environment says it: `cpu`, which is the default, for the processor; `gpu` for the
first GPU of the machine, and an error if it cannot be used; `auto` for that GPU if there is one that can be used, and
for the processor otherwise.
"""

import logging
import os
from pathlib import Path

from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.plan import FusedCircuit

__all__ = ["DEVICE", "engine_for"]

DEVICE = "QTJ_ENGINE_DEVICE"
_DRIVER = "QTJ_CUDA_DRIVER"
"""Another library than the driver's, for tests without a card."""
_DEVICES = ("cpu", "gpu", "auto")

_log = logging.getLogger(__name__)


def engine_for(circuit: FusedCircuit, *, threads: int, variant: str) -> Engine:
    """Returns the engine of a circuit, where the user wants it.

    Args:
        circuit: The circuit.
        threads: See `Engine`.
        variant: See `lanes`.

    Raises:
        MemoryError: If there is not enough memory.
        UnsupportedError: If a GPU is asked for and cannot be used.
        ValueError: If the environment names another device.
    """
    device = os.environ.get(DEVICE) or "cpu"
    if device not in _DEVICES:
        raise ValueError(f"${DEVICE} is {device!r}, not one of {', '.join(_DEVICES)}")
    if device == "gpu" or (device == "auto" and _has_card()):
        engine = _on_card(circuit, threads, variant, must=device == "gpu")
        if engine:
            return engine
    return Engine(*circuit.plans(lanes(variant)), threads=threads, variant=variant)


def _has_card() -> bool:
    """Whether NVIDIA's driver has made a device, on Linux or on Windows' Linux."""
    return _DRIVER in os.environ or any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()


def _on_card(circuit: FusedCircuit, threads: int, variant: str, *, must: bool) -> Engine | None:
    from qtj_simulator.fused.cuda.driver import DRIVER
    from qtj_simulator.fused.cuda.on_card import EngineOnCard
    from qtj_simulator.fused.cuda.trust import trusted_card
    from qtj_simulator.fused.cuda.unusable import UnusableError

    try:
        card = trusted_card(os.environ.get(_DRIVER, DRIVER), 64 if variant.endswith("double") else 32)
        return EngineOnCard(circuit, card, threads=threads, variant=variant)
    except UnusableError as problem:
        if must:
            raise UnsupportedError(f"the GPU cannot be used: {problem}", f"set ${DEVICE} to cpu") from problem
        _log.warning("the processor computes circuits, because the GPU cannot be used: %s", problem)
    return None
