"""torch.compile takes the function whole, without a break of the graph."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.torch.cases import CASE, drawn, function_of

FUNCTION = function_of(CASE)


@pytest.fixture(params=["eager", "aot_eager"])
def compiled(request: pytest.FixtureRequest) -> Any:
    torch.compiler.reset()
    return torch.compile(FUNCTION, backend=request.param, fullgraph=True)


@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 3, 2)])
def test_values_and_gradients_are_the_same(compiled: Any, shape: tuple[int, ...]) -> None:
    found, known = (slopes(function, shape) for function in (compiled, FUNCTION))

    for one, other in zip(found, known, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def slopes(function: Any, shape: tuple[int, ...]) -> list[Any]:
    given = drawn(*shape, grad=True), drawn(2, grad=True)
    values = function(*given)
    return [values.detach(), *torch.autograd.grad((values**2).sum(), given)]


def test_another_circuit_in_the_same_graph_is_another_one() -> None:
    other = function_of(replace(CASE, readouts=CASE.readouts[:1]))
    both = torch.compile(lambda x, w: (FUNCTION(x, w), other(x, w)), backend="aot_eager", fullgraph=True)

    first, second = both(drawn(3, 2), drawn(2))

    assert torch.equal(first[:, :1], second)


def test_a_vmap_within_is_that_of_a_loop() -> None:
    rows, weights = drawn(4, 3, 2), drawn(2)
    found = torch.compile(torch.func.vmap(FUNCTION, (0, None)), backend="eager", fullgraph=True)(rows, weights)

    np.testing.assert_allclose(found, torch.stack([FUNCTION(each, weights) for each in rows]), atol=1e-12)


def test_second_derivatives_are_refused(compiled: Any) -> None:
    given = drawn(3, 2, grad=True), drawn(2, grad=True)
    (slope,) = torch.autograd.grad((compiled(*given) ** 2).sum(), given[1:], create_graph=True)

    with pytest.raises((NotImplementedError, RuntimeError), match=r"only first derivatives|double backward"):
        slope.sum().backward()
