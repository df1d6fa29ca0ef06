"""torch.compile takes the function whole, without a break of the graph."""

import ast
import gc
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from qtj_simulator.torch import TorchLayer
from tests.torch.cases import CASE, drawn, function_of

FUNCTION = function_of(CASE)


@pytest.fixture(params=["eager", "aot_eager", "inductor"])
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


def test_a_graph_keeps_its_circuit_when_another_function_of_it_is_gone() -> None:
    first, second = function_of(CASE), function_of(CASE)
    compiled = torch.compile(first, backend="eager", fullgraph=True)
    known = compiled(drawn(3, 2), drawn(2))
    torch.compile(second, backend="eager", fullgraph=True)(drawn(3, 2), drawn(2))
    del second
    gc.collect()

    assert torch.equal(compiled(drawn(3, 2), drawn(2)), known)


LOAD = """
import sys, torch
from tests.torch.cases import CASE, NO_INPUTS, drawn, function_of

torch.compile(function_of(NO_INPUTS), backend="eager")(drawn(3, 0), drawn(1))  # the first circuit of this process
program = torch.export.load(sys.argv[1]).module()
try:
    program(drawn(3, 2))
except LookupError as error:
    print(error)
function = function_of(CASE)
print(program(drawn(3, 2)).tolist())
"""


def test_an_exported_program_has_its_own_circuit_or_none_in_another_process(tmp_path: Path) -> None:
    layer = TorchLayer(CASE.circuit, CASE.readouts, inputs=CASE.inputs, weights=CASE.weights, dtype=torch.float64)
    torch.export.save(torch.export.export(layer, (drawn(3, 2),)), tmp_path / "layer.pt2")

    command = [sys.executable, "-W", "ignore", "-c", LOAD, str(tmp_path / "layer.pt2")]
    refused, values = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert "has a circuit that this process has not made" in refused
    np.testing.assert_allclose(ast.literal_eval(values), layer(drawn(3, 2)).tolist(), atol=1e-12)


IN_A_GRAPH = {
    "compiled": lambda slope: torch.compile(slope, backend="eager"),
    "compiled whole": lambda slope: torch.compile(slope, backend="aot_eager", fullgraph=True),
    "traced": make_fx,
}


@pytest.mark.parametrize("kind", IN_A_GRAPH)
@pytest.mark.parametrize("transform", [torch.func.jacfwd, torch.func.hessian])
def test_forward_mode_in_a_graph_is_refused_and_never_zero(kind: str, transform: Any) -> None:
    torch.compiler.reset()
    rows = drawn(3, 2)
    slope = IN_A_GRAPH[kind](transform(lambda weights: FUNCTION(rows, weights).sum()))

    with pytest.raises(Exception, match="no forward mode in a graph"):
        slope(drawn(2))


def test_forward_mode_of_a_graph_is_refused_and_never_zero() -> None:
    rows, along = drawn(3, 2), torch.ones(3, 2, dtype=torch.float64)
    layer = TorchLayer(CASE.circuit, CASE.readouts, inputs=CASE.inputs, weights=CASE.weights, dtype=torch.float64)
    exported = torch.export.export(layer, (rows,)).module()

    with pytest.raises(NotImplementedError, match="no forward mode in a graph"):
        torch.func.jvp(exported, (rows,), (along,))
    with pytest.raises(NotImplementedError, match="no forward mode in a graph"):
        torch.func.linearize(layer, rows)


def test_a_trace_has_the_circuit_and_not_its_values() -> None:
    traced = make_fx(FUNCTION)(drawn(3, 2), drawn(2))
    others = -drawn(3, 2), 3 * drawn(2)

    assert torch.equal(traced(*others), FUNCTION(*others))


def test_a_vmap_within_is_that_of_a_loop() -> None:
    rows, weights = drawn(4, 3, 2), drawn(2)
    found = torch.compile(torch.func.vmap(FUNCTION, (0, None)), backend="eager", fullgraph=True)(rows, weights)

    np.testing.assert_allclose(found, torch.stack([FUNCTION(each, weights) for each in rows]), atol=1e-12)


def test_second_derivatives_are_refused(compiled: Any) -> None:
    given = drawn(3, 2, grad=True), drawn(2, grad=True)
    (slope,) = torch.autograd.grad((compiled(*given) ** 2).sum(), given[1:], create_graph=True)

    with pytest.raises((NotImplementedError, RuntimeError), match=r"only first derivatives|double backward"):
        slope.sum().backward()
