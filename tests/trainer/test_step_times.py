"""How long the steps of a process take, and how long it waits for its peers in them."""

import json
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_trainer.replica.telemetry import Telemetry
from qtj_trainer.step_clock import RecentSteps, StepClock
from tests.trainer.processes import Trainer
from tests.trainer.sleeping_worker import sleeping_program
from tests.trainer.test_telemetry import get
from tools.background import free_ports, tf_configs, wait_until

_TIMES = {"seconds": 1, "own": 1, "steps": 3, "span": 1}


def test_a_moment_in_which_a_process_is_slow_does_not_change_the_medians() -> None:
    recent = RecentSteps()
    for seconds in (1.0, 1.0, 9.0, 1.0, 1.0):
        recent.add(seconds, 0.75)

    assert recent.times() == contract.StepTimes(seconds=1.0, own=0.25, steps=5, span=13.0)


def test_short_steps_are_added_up() -> None:
    recent = RecentSteps()
    assert recent.times() is None
    for _ in range(250):
        recent.add(0.002, 0.001)
    times = recent.times()

    assert times is not None
    assert (round(times.seconds, 6), round(times.own, 6), times.steps) == (0.002, 0.001, 250)


def test_the_last_minute_is_kept_or_twenty_steps() -> None:
    short, long = RecentSteps(), RecentSteps()
    for _ in range(1000):
        short.add(0.5, 0.0)
        long.add(100.0, 0.0)

    assert [(each.steps, each.span) for each in (short.times(), long.times()) if each] == [(120, 60.0), (20, 2000.0)]


def test_a_wait_is_never_longer_than_its_step() -> None:
    recent = RecentSteps()
    recent.add(1.0, 3.0)

    assert recent.times() == contract.StepTimes(seconds=1.0, own=0.0, steps=1, span=1.0)


def test_the_clock_measures_neither_the_first_step_nor_what_is_outside_of_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, now = StepClock(), 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    def step(seconds: float) -> None:
        nonlocal now
        now += seconds
        clock.lap()
        clock.step()

    step(100)  # compiles
    step(1)
    with clock.paused():
        now += 50  # a checkpoint
    step(30)  # fills buffers
    step(1)
    clock.stop()
    now += 70  # an evaluation
    step(20)
    step(1)

    assert clock.recent.times() == contract.StepTimes(seconds=1.0, own=1.0, steps=3, span=3.0)


def test_they_are_served_beside_the_progress_and_as_metrics() -> None:
    telemetry = Telemetry(contract.Progress(epoch=0, step=7))
    port = telemetry.serve(0)
    before = get(port, contract.PROGRESS_PATH)

    telemetry.clock.recent.add(0.5, 0.4)

    heard = contract.Heartbeat.parse(get(port, contract.PROGRESS_PATH))
    assert "stepTimes" not in json.loads(before)
    assert heard is not None
    assert heard.times == contract.StepTimes(seconds=0.5, own=0.1, steps=1, span=0.5)
    assert "qtj_training_own_step_seconds 0.1" in get(port, "/metrics").replace("0.09999999999999998", "0.1")
    assert "qtj_training_step_seconds 0.5" in get(port, "/metrics")


@pytest.mark.parametrize(
    "times",
    [3, {}, {**_TIMES, "own": -1}, {**_TIMES, "seconds": None}, {**_TIMES, "span": "NaN"}, {**_TIMES, "steps": -1}],
)
def test_times_that_cannot_be_read_are_unknown(times: object) -> None:
    heard = contract.Heartbeat.parse(json.dumps({"epoch": 1, "stepAge": 2, "stepTimes": times}))

    assert heard == contract.Heartbeat(age=2.0)


def times_of(port: int) -> contract.StepTimes | None:
    try:
        heard = contract.Heartbeat.parse(get(port, contract.PROGRESS_PATH))
    except OSError:
        return None
    return heard.times if heard else None


def measured_by(ports: list[int]) -> list[contract.StepTimes]:
    """What all replicas tell, once each has measured ten steps."""
    found: list[contract.StepTimes] = []

    def is_known() -> bool:
        found[:] = [times for port in ports if (times := times_of(port)) is not None and times.steps >= 10]
        return len(found) == len(ports)

    wait_until(is_known)
    return found


@pytest.mark.slow
def test_a_worker_that_sleeps_in_each_step_of_fit_is_the_slow_one_and_its_peer_waits(
    trainer: Trainer, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(sleeping_program(epochs=300, seconds=0.3))
    ports = free_ports(2)
    for port, config in zip(ports, tf_configs(worker=2).values(), strict=True):
        place = {"QTJ_ARTIFACTS_URI": str(tmp_path / "artifacts"), "QTJ_JOB_UID": "uid-1"}
        trainer.start_program(path, TF_CONFIG=config, QTJ_METRICS_PORT=str(port), **place)

    peer, slow = measured_by(ports)

    assert min(peer.seconds, slow.seconds) > 0.3
    assert slow.own > 0.3
    assert peer.own < slow.own / 2


@pytest.mark.slow
def test_workers_of_a_workload_that_share_steps_measure_their_waits(trainer: Trainer, tmp_path: Path) -> None:
    ports = free_ports(2)
    line = ("train", "qcnn", "--qubits=8", "--filters=8", "--batch-size=80", "--epochs=200")
    for port, config in zip(ports, tf_configs(worker=2).values(), strict=True):
        place = {"QTJ_ARTIFACTS_URI": str(tmp_path / "artifacts")}
        trainer.start(*line, TF_CONFIG=config, QTJ_METRICS_PORT=str(port), **place)

    for times in measured_by(ports):
        assert 0 < times.own < times.seconds
