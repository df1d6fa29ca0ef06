"""A card is used where it is asked for, trusted and large enough; the driver of these tests has none."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from qtj_simulator.expectation import expectation_engine
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.gates import UnsupportedError
from tests.trainer.circuits import Case
from tests.trainer.compared import results
from tests.trainer.cuda_stand_in import StandIn, pretended_card, stand_in
from tests.trainer.test_cuda_kernels import CLOSE, engine_of, exact
from tests.trainer.test_fused_exact import with_a_string

CASE = with_a_string(5)


@pytest.fixture(params=[32, 64])
def pretended(request: pytest.FixtureRequest) -> Iterator[StandIn]:
    with pretended_card(request.param) as found:
        yield found


def asked(case: Case, bits: int) -> Engine:
    return expectation_engine(
        case.circuit, list(case.readouts), inputs=case.inputs, weights=case.weights, dtype=f"float{bits}"
    )


@pytest.mark.parametrize("device", ["gpu", "auto"])
def test_a_card_computes_where_it_is_asked_for(
    pretended: StandIn, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setenv("QTJ_ENGINE_DEVICE", device)
    engine, numbers = asked(CASE, pretended.bits), CASE.numbers(3)
    before = pretended.setting("launches")

    found = results(engine, numbers)

    assert pretended.setting("launches") > before
    expected = results(exact(CASE), numbers)
    np.testing.assert_allclose(found, expected, atol=CLOSE[pretended.bits] * np.abs(expected).max())


@pytest.mark.parametrize("device", [None, "cpu", ""])
def test_the_processor_computes_where_no_card_is_asked_for(
    pretended: StandIn, monkeypatch: pytest.MonkeyPatch, device: str | None
) -> None:
    monkeypatch.delenv("QTJ_ENGINE_DEVICE", raising=False)
    if device is not None:
        monkeypatch.setenv("QTJ_ENGINE_DEVICE", device)

    assert type(asked(CASE, pretended.bits)) is Engine


def test_another_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QTJ_ENGINE_DEVICE", "tpu")

    with pytest.raises(
        ValueError, match=r"^\$QTJ_ENGINE_DEVICE: 'tpu' is no device of the engine: take one of auto, cpu, gpu$"
    ):
        asked(CASE, 32)


@pytest.mark.parametrize(("setting", "value"), [("wrong", 1), ("wrong", 2), ("cards", 0)])
def test_a_card_that_is_wrong_or_missing_is_not_used(
    pretended: StandIn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, setting: str, value: int
) -> None:
    sentence = {
        1: "stand-in computes other numbers than the processor: they differ by 0.01",
        2: "stand-in computes other numbers than the processor: they differ by nan",
        0: "cuInit of the CUDA driver fails: no CUDA-capable device is detected (100)",
    }[value]
    with pretended.with_setting(setting, value):
        monkeypatch.setenv("QTJ_ENGINE_DEVICE", "gpu")
        with pytest.raises(UnsupportedError) as refused:
            asked(CASE, pretended.bits)
        monkeypatch.setenv("QTJ_ENGINE_DEVICE", "auto")
        engine = asked(CASE, pretended.bits)

    assert str(refused.value) == f"the GPU cannot be used: {sentence}: take the engine's device cpu, or auto"
    assert type(engine) is Engine
    assert caplog.messages == [f"the processor computes circuits, because the GPU cannot be used: {sentence}"]


def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QTJ_ENGINE_DEVICE", "gpu")
    monkeypatch.setenv("QTJ_CUDA_DRIVER", "libnothing.so.1")

    with pytest.raises(UnsupportedError, match=r"^the GPU cannot be used: no CUDA driver: libnothing\.so\.1"):
        asked(CASE, 32)


def test_a_machine_without_a_card_imports_nothing_for_it() -> None:
    program = """
import cirq, sys
from qtj_simulator import expectation_engine
qubit = cirq.LineQubit(0)
print(type(expectation_engine(cirq.Circuit(cirq.X(qubit)), cirq.Z(qubit))).__name__)
print([name for name in sys.modules if "fused.cuda" in name])
"""
    environment = {key: value for key, value in os.environ.items() if key != "QTJ_CUDA_DRIVER"}
    if any(Path(path).exists() for path in ("/dev/nvidia0", "/dev/dxg")):
        pytest.skip("this machine has a GPU")
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment | {"QTJ_ENGINE_DEVICE": "auto"}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip

    assert ended.stdout == "Engine\n[]\n"


@pytest.mark.parametrize(
    ("room", "hidden", "messages"),
    [
        (1 << 20, 0, []),  # the card says what is free, so nothing has to fail
        (4 << 20, 3 << 20, ["the memory of the GPU is full: it now computes 20 examples at a time"]),
    ],
    ids=["known", "hidden"],
)
def test_a_batch_that_does_not_fit_runs_in_parts(
    caplog: pytest.LogCaptureFixture, room: int, hidden: int, messages: list[str]
) -> None:
    case, pretended = with_a_string(10), stand_in(64)
    engine, numbers = engine_of(case, 64), case.numbers(40)
    with (
        pretended.with_setting("memory", pretended.number("in_use") + room),
        pretended.with_setting("hidden", hidden),
    ):
        found = results(engine, numbers)

    np.testing.assert_allclose(found, results(exact(case), numbers), atol=1e-10)
    assert caplog.messages[:1] == messages


@pytest.mark.parametrize(
    ("qubits", "setting", "reason"),
    [
        (10, "memory", "the memory of the GPU is full: a gradient needs three states of {} KiB"),
        (5, "fails", "cuLaunchKernel of the CUDA driver fails: invalid (1)"),
    ],
    ids=["full", "fails"],
)
def test_the_processor_goes_on_where_the_card_does_not(
    pretended: StandIn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, qubits: int, setting: str,
    reason: str,
) -> None:  # fmt: skip
    case, bits = with_a_string(qubits), pretended.bits
    monkeypatch.setenv("QTJ_ENGINE_DEVICE", "gpu")
    engine, numbers = asked(case, bits), case.numbers(2)
    with pretended.with_setting(setting, pretended.number("in_use") + (4 << 10) if setting == "memory" else 1):
        found = results(engine, numbers)

    expected = results(exact(case), numbers)
    np.testing.assert_allclose(found, expected, atol=CLOSE[bits] * np.abs(expected).max())
    assert caplog.messages == [f"the processor computes this circuit from now on: {reason.format(bits // 4)}"]


def test_memory_of_the_card_is_given_back() -> None:
    pretended = stand_in(32)
    before = pretended.number("in_use")
    engine = engine_of(CASE, 32)
    results(engine, CASE.numbers(3))
    assert pretended.number("in_use") > before

    del engine

    assert pretended.number("in_use") == before
