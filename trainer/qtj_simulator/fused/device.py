"""Where a circuit is computed: on the processor, or on a GPU.

Where a program does not say it, the variable QTJ_ENGINE_DEVICE of the environment does. `EngineDevice` has the values.
"""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from qtj_contract import Env
from qtj_simulator.engines import EngineDevice
from qtj_simulator.fused.engine import Engine, lanes
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.plan import FusedCircuit

if TYPE_CHECKING:
    from qtj_simulator.fused.cuda.on_card import EngineOnCard

__all__ = ["REMEDY", "NoGpuError", "chosen_device", "engine_for", "engine_on_card"]

REMEDY = "take the engine's device cpu, or auto"
"""For who asks for a GPU that cannot be used."""
_DRIVER = "QTJ_CUDA_DRIVER"
"""Another library than the driver's, for tests without a card."""

_log = logging.getLogger(__name__)


class NoGpuError(UnsupportedError):
    """A GPU is asked for, and cannot be used."""


def chosen_device(device: str | None) -> EngineDevice:
    """Returns the device that a program names, or else the environment; `cpu` where neither does.

    Raises:
        ValueError: If there is no such device.
    """
    if device is not None:
        return EngineDevice(device)
    named = os.environ.get(Env.ENGINE_DEVICE) or EngineDevice.CPU
    try:
        return EngineDevice(named)
    except ValueError as problem:
        raise ValueError(f"${Env.ENGINE_DEVICE}: {problem}") from problem


def engine_for(circuit: FusedCircuit, *, threads: int, variant: str, device: str | None = None) -> Engine:
    """Returns the engine of a circuit, where the user wants it.

    Args:
        circuit: The circuit.
        threads: See `Engine`.
        variant: See `lanes`.
        device: See `chosen_device`.

    Raises:
        MemoryError: If there is not enough memory.
        NoGpuError: If a GPU is asked for and cannot be used.
        ValueError: If there is no such device.
    """
    on_card = engine_on_card(circuit, threads=threads, variant=variant, device=chosen_device(device))
    return on_card or Engine(*circuit.plans(lanes(variant)), threads=threads, variant=variant)


def engine_on_card(
    circuit: FusedCircuit, *, threads: int, variant: str, device: EngineDevice, number: int = 0
) -> "EngineOnCard | None":
    """Returns the engine on a card, or None where the processor is to compute; the log says why.

    Args:
        circuit: The circuit.
        threads: See `Engine`.
        variant: See `lanes`.
        device: Where the user wants it.
        number: Which of the cards that this process sees.

    Raises:
        MemoryError: If the processor has not enough memory.
        NoGpuError: If a GPU is asked for and cannot be used.
    """
    if device is EngineDevice.CPU or (device is EngineDevice.AUTO and not _has_card()):
        return None
    from qtj_simulator.fused.cuda.compiler import UnusableError
    from qtj_simulator.fused.cuda.driver import DRIVER
    from qtj_simulator.fused.cuda.on_card import EngineOnCard
    from qtj_simulator.fused.cuda.trust import trusted_card

    try:
        card = trusted_card(os.environ.get(_DRIVER, DRIVER), 64 if variant.endswith("double") else 32, number)
        return EngineOnCard(circuit, card, threads=threads, variant=variant)
    except UnusableError as problem:
        if device is EngineDevice.GPU:
            raise NoGpuError(f"the GPU cannot be used: {problem}", REMEDY) from problem
        _log.warning("the processor computes circuits, because the GPU cannot be used: %s", problem)
    return None


def _has_card() -> bool:
    """Whether NVIDIA's driver has made a device, on Linux or on Windows' Linux."""
    return _DRIVER in os.environ or any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()
