"""How old the last step is, and the stacks of a process that takes none."""

import faulthandler
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tf_keras as keras

import qtj_contract as contract
from qtj_trainer import step_clock
from qtj_trainer.replica.telemetry import Telemetry
from qtj_trainer.step_clock import StepClock
from qtj_trainer.stored.checkpoints import Checkpoints, State
from qtj_trainer.stored.position import Position
from tests.trainer.test_telemetry import get
from tools.resume.experiment import Case, Fit

_HANGS = """
import threading, time
from qtj_trainer.step_clock import StepClock

def train_for_ever():
    lock.acquire()

lock = threading.Lock()
lock.acquire()
clock = StepClock()
clock.deadline = {deadline}
clock.step()
{then}
"""


def stacks_of(then: str, *, deadline: str = "0.2", seconds: float = 2) -> str:
    """What a process that takes one step and then hangs has written until it is killed."""
    program = _HANGS.format(deadline=deadline, then=then)
    try:
        subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=seconds, check=True)
    except subprocess.TimeoutExpired as killed:
        return (killed.stderr or b"").decode()
    raise AssertionError("it has not hung")


def test_a_dead_lock_leaves_the_stack_of_each_thread() -> None:
    stacks = stacks_of("threading.Thread(target=time.sleep, args=(9,)).start(); train_for_ever()")

    assert "in train_for_ever" in stacks
    assert stacks.count("hread 0x") == 2


@pytest.mark.parametrize(
    ("then", "deadline"), [("clock.stop(); train_for_ever()", "0.2"), ("train_for_ever()", "None")]
)
def test_outside_of_steps_or_without_a_deadline_there_is_none(then: str, deadline: str) -> None:
    assert stacks_of(then, deadline=deadline, seconds=1) == ""


def test_the_clock_starts_with_the_first_step_and_stands_still_outside_of_steps() -> None:
    telemetry = Telemetry(contract.Progress(epoch=0), "compiling")
    assert telemetry.clock.age() is None

    telemetry.step(contract.Progress(epoch=0, step=1))
    assert telemetry.clock.age() == pytest.approx(0, abs=5)
    assert telemetry.activity == ""
    with telemetry.clock.paused():
        assert telemetry.clock.age() is None
    assert telemetry.clock.age() is not None
    telemetry.activity = "storing"
    assert telemetry.clock.age() is None
    with telemetry.clock.paused():
        pass
    assert telemetry.clock.age() is None, "a pause of a clock that stands still does not start it"


def test_the_endpoint_tells_the_age_and_where_the_main_thread_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_clock, "_PLACE_AFTER", 0.0)
    telemetry = Telemetry(contract.Progress(epoch=0, step=4))
    port = telemetry.serve(0)
    before = contract.Heartbeat.parse(get(port, contract.PROGRESS_PATH))
    telemetry.step(contract.Progress(epoch=0, step=5))

    answer = get(port, contract.PROGRESS_PATH)
    after = contract.Heartbeat.parse(answer)

    assert before == contract.Heartbeat(step=4)
    assert after is not None
    assert after.step == 5
    assert after.age == pytest.approx(0, abs=5)
    assert after.place.startswith("test_telemetry.py:"), "the last frame that is not of a library"
    assert "qtj_training_step_age_seconds" in get(port, "/metrics")
    assert json.loads(answer)["step"] == 5


def test_the_clock_of_a_fit_runs_in_steps_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = Fit(Case("watched"), tmp_path, epochs=2)
    runs: dict[str, list[bool]] = {}
    clock: StepClock = fit.training.telemetry.clock

    def note(moment: str) -> None:
        runs.setdefault(moment, []).append(clock.age() is not None)

    class Watcher(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        """Notes whether the clock runs; like the callback of the program, after it has been called."""

        def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
            note("first step" if fit.training.telemetry.progress.step in {None, 0} else "step")

        def on_test_batch_end(self, batch: int, logs: object = None) -> None:
            note("evaluation")

    add = Checkpoints.add

    def noted(checkpoints: Checkpoints, position: Position, state: State) -> str:
        note("checkpoint")
        return add(checkpoints, position, state)

    monkeypatch.setattr(Checkpoints, "add", noted)
    data = np.ones((16, 3)), np.ones(16)
    fit.model.fit(*data, batch_size=8, epochs=2, callbacks=[Watcher(), fit.callback], validation_data=data, verbose=0)
    note("after fit")

    assert {moment: set(seen) for moment, seen in runs.items()} == {
        "first step": {False},
        "step": {True},
        "evaluation": {False},
        "checkpoint": {False},
        "after fit": {False},
    }


def test_the_timer_is_not_set_for_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    armed: list[float] = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda seconds, **_: armed.append(seconds))
    clock = StepClock()
    clock.deadline = 600

    for _ in range(100):
        clock.step()

    assert len(armed) < 50
    assert armed[0] == 540
    assert threading.active_count() < 50
