"""Custom calls of XLA: a program has the circuit in it, and what does not fit is one sentence."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cirq
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from qtj_simulator import xla
from qtj_simulator.fused.engine import lanes
from qtj_simulator.groups import Groups
from tests.trainer.face_cases import CASE

ROWS, WEIGHTS = np.array([[0.3, -0.4], [1.2, 0.7]]), np.array([0.5, -1.1])
MANUAL = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks.md"
ELSEWHERE = """
import json, sys
import numpy as np
from jax import export
from qtj_simulator.xla import can_call
assert can_call()
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
print(program.call(*(np.array(json.loads(each), np.float32) for each in sys.argv[2:])).tolist())
"""
WITHOUT_MEMORY = """
import resource
from pathlib import Path
import cirq, jax, numpy as np, sympy
from qtj_simulator.jax import expectation_function
angle, line = sympy.Symbol("a"), cirq.LineQubit.range(24)
circuit = cirq.Circuit(cirq.X(qubit) ** angle for qubit in line)
function = expectation_function(circuit, [cirq.Z(line[0])], weights=[angle], threads=1)
given = jax.numpy.empty((3, 0)), jax.numpy.ones(1)
compiled = jax.jit(function).lower(*given).compile()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
try:
    compiled(*given).block_until_ready()
except jax.errors.JaxRuntimeError as problem:
    print(problem)
"""


def attributes(dtype: str = "float32") -> dict[str, Any]:
    groups = Groups(CASE.circuit, CASE.readouts, inputs=CASE.inputs, weights=CASE.weights, threads=1)
    calls = xla.CompiledGroups(groups).engine(np.dtype(dtype), apart=False)
    return {**calls.attributes, "layer": np.int64(1 << 40)}  # a circuit that nobody has opened


def call_of_values() -> Any:
    assert xla.can_call()
    result = xla.results_of("values", 2, [jnp.array(ROWS)])
    return jax.ffi.ffi_call("qtj_simulator.values", result)


def test_the_code_of_the_manual_exports_a_function_and_its_second_derivatives(tmp_path: Path) -> None:
    (section,) = re.findall(r"^## JAX\n.*?^### Two workers", MANUAL.read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
        exec(code, names)
    function, given = names["function"], (jnp.array(names["inputs"]), jnp.array(names["weights"]))

    curvature = jax.jit(jax.jacrev(jax.jacrev(lambda w, x: function(x, w).sum())))  # it calls the other two methods
    exported = export.export(curvature, disabled_checks=names["checks"])(*given[::-1])
    (tmp_path / "program").write_bytes(exported.serialize())

    weights, rows = (json.dumps(each.tolist()) for each in given[::-1])
    found = subprocess.check_output(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path / "program"), weights, rows], text=True
    )

    np.testing.assert_allclose(json.loads(found), curvature(*given[::-1]), atol=1e-5)
    loaded: Any = export.deserialize(names["program"])
    np.testing.assert_allclose(loaded.call(*given), names["values"], atol=1e-6)


@pytest.mark.skipif(lanes() == lanes("baseline"), reason="needs a processor with vectors of several widths")
@pytest.mark.parametrize("qubits", [12, 13])
def test_only_wide_circuits_need_a_processor_with_the_same_vectors(qubits: int) -> None:
    line = cirq.LineQubit.range(qubits)
    groups = Groups(cirq.Circuit(cirq.X.on_each(*line)), [cirq.Z(line[0])], threads=1)
    given = xla.CompiledGroups(groups).engine(np.dtype("float32"), apart=False).attributes | {"variant": "baseline"}
    nothing = jnp.empty((1, 0)), jnp.empty(0)
    assert xla.can_call()
    call = jax.ffi.ffi_call("qtj_simulator.values", xla.results_of("values", 1, nothing))

    if qubits == 12:
        np.testing.assert_allclose(call(*nothing, **given), [[-1]], atol=1e-6)
    else:
        with pytest.raises(jax.errors.JaxRuntimeError, match="no program for the vectors of this processor"):
            call(*nothing, **given)


def test_arrays_of_another_circuit_are_refused() -> None:
    call = call_of_values()

    np.testing.assert_allclose(
        call(jnp.array(ROWS), jnp.array(WEIGHTS), **attributes()), CASE.values(ROWS, WEIGHTS).reshape(2, 2), atol=1e-5
    )
    for rows, weights in ((ROWS[:, :1], WEIGHTS), (ROWS, WEIGHTS[:1]), (ROWS[0], WEIGHTS), (ROWS.astype(int), WEIGHTS)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="the arrays of the call are not those of the circuit"):
            call(jnp.array(rows), jnp.array(weights), **attributes())


def test_a_call_without_its_result_is_refused() -> None:
    assert xla.can_call()
    rows, weights, like = jnp.array(ROWS), jnp.array(WEIGHTS), jnp.ones((2, 2))
    call: Any = jax.ffi.ffi_call("qtj_simulator.values", (), has_side_effect=True)

    with pytest.raises(jax.errors.JaxRuntimeError, match="the arrays of the call are not those of the circuit"):
        call(rows, weights, like, **attributes())


def test_a_damaged_plan_is_refused() -> None:
    damaged = attributes()["plan"].copy()
    damaged[-1] ^= 1

    with pytest.raises(jax.errors.JaxRuntimeError, match="the fused engine: "):
        call_of_values()(jnp.array(ROWS), jnp.array(WEIGHTS), **attributes() | {"plan": damaged})


@pytest.mark.parametrize(
    "change",
    [
        lambda _: {},
        lambda _: {name: np.int64(1) for name in "abcde"},
        lambda given: {name.replace("layer", "later"): value for name, value in given.items()},
        lambda given: given | {"variant": np.int64(1)},
        lambda given: given | {"layer": "1"},
        lambda given: given | {"layer": np.int32(1)},
        lambda given: given | {"plan": given["plan"].astype(np.int64)},
    ],
    ids=["none", "other names", "one other name", "a number", "a string", "a short number", "an array of another type"],
)
def test_other_attributes_are_refused(change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="the call has other attributes: make the function anew"):
        call_of_values()(jnp.array(ROWS), jnp.array(WEIGHTS), **change(attributes()))


def test_memory_that_is_not_there_is_an_error_with_its_size() -> None:
    found = subprocess.check_output([sys.executable, "-c", WITHOUT_MEMORY], text=True)

    assert found == (
        "RESOURCE_EXHAUSTED: the fused engine: out of memory for a batch of 3 examples: it holds several state vectors"
        " of 128 MiB each\n"
    )


def test_without_the_library_there_are_no_calls_and_the_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(xla, "CALLS", tmp_path / "libqtj_xla.so")

    assert not xla.can_call.__wrapped__()
    (sentence,) = caplog.messages
    assert sentence.startswith("JAX calls the engine through Python, because XLA cannot call it: ")
    assert str(tmp_path / "libqtj_xla.so") in sentence


def test_the_simulator_imports_no_framework() -> None:
    program = (
        "import sys, qtj_simulator, qtj_simulator.expectation;"
        "print(sorted({'jax', 'pennylane', 'tensorflow', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
