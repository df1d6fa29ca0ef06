"""What the tests of PyTorch share."""

from typing import Any

import torch

from qtj_simulator.torch import expectation_function
from tests.trainer.circuits import Case
from tests.trainer.face_cases import CASE, NO_INPUTS

__all__ = ["CASE", "NO_INPUTS", "drawn", "function_of"]


def function_of(case: Case) -> Any:
    return expectation_function(case.circuit, case.readouts, inputs=case.inputs, weights=case.weights)


def drawn(*shape: int, dtype: Any = torch.float64, grad: bool = False) -> Any:
    """Angles, the same ones for the same shape."""
    draw = torch.Generator().manual_seed(5)
    return (4 * torch.rand(shape, generator=draw, dtype=torch.float64) - 2).to(dtype).requires_grad_(grad)
