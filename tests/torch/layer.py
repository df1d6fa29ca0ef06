"""The module of PyTorch: its angles, its state, its types, and a training."""

import copy
import io
import re
from typing import Any

import pytest
import torch

from qtj_simulator.torch import TorchLayer
from tests.torch.cases import CASE, NO_INPUTS, drawn
from tests.trainer.processes import REPOSITORY


def layer(**options: Any) -> Any:
    return TorchLayer(CASE.circuit, CASE.readouts, inputs=CASE.inputs, weights=CASE.weights, **options)


def test_initial_angles_follow_the_seed_of_torch() -> None:
    torch.manual_seed(3)
    first, second = layer(), layer()
    torch.manual_seed(3)
    again = layer()

    assert torch.equal(first.angles, again.angles)
    assert not torch.equal(first.angles, second.angles)
    assert 0 <= first.angles.min() <= first.angles.max() < 2 * torch.pi


def test_an_initializer_of_torch_fills_them() -> None:
    assert torch.equal(layer(initializer=torch.nn.init.ones_).angles, torch.ones(2))


def test_its_state_is_that_of_another_one() -> None:
    first, second = layer(), layer()
    assert list(first.state_dict()) == ["angles"]

    second.load_state_dict(first.state_dict())

    assert torch.equal(first(drawn(3, 2)), second(drawn(3, 2)))


def test_it_can_be_saved_whole_and_copied() -> None:
    first, file = layer(), io.BytesIO()
    torch.save(first, file)
    file.seek(0)

    for other in (torch.load(file, weights_only=False), copy.deepcopy(first)):
        assert torch.equal(first(drawn(3, 2)), other(drawn(3, 2)))


def test_its_type_is_that_of_its_angles() -> None:
    inputs = drawn(3, 2, dtype=torch.float32)
    single = layer()
    double = copy.deepcopy(single).to(torch.float64)

    assert (single(inputs).dtype, double(inputs).dtype) == (torch.float32, torch.float64)
    assert layer(dtype=torch.float64).angles.dtype == torch.float64
    torch.testing.assert_close(single(inputs).double(), double(inputs), atol=3e-5, rtol=0)
    with pytest.raises(TypeError, match=r"weights is torch\.float16"):
        single.half()(inputs)
    with pytest.raises(TypeError, match=r"dtype is torch\.bfloat16: the simulator takes torch\.float32"):
        layer(dtype=torch.bfloat16)


def test_a_circuit_without_inputs_needs_none() -> None:
    alone = TorchLayer(NO_INPUTS.circuit, NO_INPUTS.readouts, weights=NO_INPUTS.weights)

    assert alone().item() == pytest.approx(alone.angles.cos().item(), abs=1e-6)
    with pytest.raises(ValueError, match=r"inputs are \(0,\)"):
        layer()()


def test_it_shows_its_sizes() -> None:
    assert repr(layer()) == "TorchLayer(inputs=2, angles=2, readouts=2)"


def test_it_learns_within_other_layers() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), layer(), torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.rand(64, 4)
    y = (x.sum(1, keepdim=True) > 2).float()
    losses = []
    for _ in range(80):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    assert losses[-1] < 0.6 * losses[0]


def test_the_code_of_the_manual_runs() -> None:
    manual = (REPOSITORY / "docs" / "how-to" / "frameworks.md").read_text()
    (code,) = re.findall(r"^## PyTorch.*?^```python\n(.*?)^```", manual, re.DOTALL | re.MULTILINE)

    names: dict[str, Any] = {}
    exec(code, names)

    assert names["values"].shape == (8, 2)
    assert names["curvature"].shape == (2, 2)
