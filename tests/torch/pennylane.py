"""The device of PennyLane under its interface to PyTorch: values and slopes are those of PennyLane's own simulator."""

from typing import Any

import numpy as np
import pennylane as qml
import pytest
import torch

DEVICES = ("qtj.simulator", "default.qubit")


def slopes_of_a_hybrid_model(device: str, batch: int | None) -> list[Any]:
    """Of inputs that the layer before computes, one angle for each example, beside angles that all share."""

    def circuit(inputs: Any, weights: Any) -> Any:
        qml.AngleEmbedding(inputs, wires=range(2))
        qml.BasicEntanglerLayers(weights, wires=range(2))
        return qml.expval(qml.Z(0)), qml.expval(qml.Y(1))

    torch.manual_seed(0)
    quantum = qml.qnn.TorchLayer(qml.QNode(circuit, qml.device(device, wires=2)), {"weights": (2, 2)})
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), quantum).double()
    rows = torch.linspace(-1, 1, 3 * (batch or 1), dtype=torch.float64)
    (model(rows.reshape(batch, 3) if batch else rows) ** 2).sum().backward()
    return [each.grad for each in model.parameters()]


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_a_hybrid_model_has_the_slopes_of_both_layers(batch: int | None) -> None:
    for found, known in zip(*(slopes_of_a_hybrid_model(each, batch) for each in DEVICES), strict=True):
        np.testing.assert_allclose(found, known, atol=1e-9)


def test_second_derivatives_are_asked_for_by_max_diff() -> None:
    def circuit(angle: Any) -> Any:
        qml.RX(angle * angle, 0)
        return qml.expval(qml.Z(0))

    found, known = (
        torch.autograd.functional.hessian(
            qml.QNode(circuit, qml.device(each, wires=1), max_diff=2), torch.tensor(0.7, dtype=torch.float64)
        )
        for each in DEVICES
    )
    np.testing.assert_allclose(found, known, atol=1e-9)
