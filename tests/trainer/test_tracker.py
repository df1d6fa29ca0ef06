"""What was not sent is sent later, once each, and nobody waits for it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from qtj_trainer.tracking.content import Point
from qtj_trainer.tracking.requests import RefusedError, UnreachableError
from qtj_trainer.tracking.tracker import Tracker
from tools.background import wait_until


class Run:
    """A run at a server that fails as it is told.

    Attributes:
        fails: What the next `send` raises; None for nothing.
        got: The epochs that it has.
        result: The result, once it has it.
        asked: How often it was asked.
    """

    def __init__(self, fails: Callable[[], Exception] | None = None) -> None:
        self.fails = fails
        self.got: list[int] = []
        self.result: Point | None = None
        self.asked = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def send(self, points: Sequence[Point], result: Point | None, labels: Mapping[str, str]) -> None:
        self.asked += 1
        self.may_answer.wait()
        if self.fails:
            raise self.fails()
        self.got += [each.epoch for each in points]
        self.result = result


def epoch(number: int) -> Point:
    return Point(number, 0, {"loss": 1 / number})


def down() -> Exception:
    return UnreachableError("Connection refused")


def refused() -> Exception:
    return RefusedError("401 Unauthorized")


def broken() -> Exception:
    return ZeroDivisionError()


def begun(run: Run, *earlier: Point) -> Tracker:
    tracker = Tracker(run, "MLflow at lab", pause=0.05)
    tracker.begin(earlier)
    return tracker


def test_the_run_is_opened_before_its_first_epoch() -> None:
    run = Run()
    begun(run)

    wait_until(lambda: run.asked == 1)


def test_epochs_of_earlier_attempts_come_first() -> None:
    run = Run()
    tracker = begun(run, epoch(1), epoch(2))
    tracker.add(epoch(3))

    tracker.finish(epoch(3), {})

    assert run.got == [1, 2, 3]
    assert run.result == epoch(3)


def test_epochs_that_end_soon_after_one_another_are_sent_together() -> None:
    run = Run()
    tracker = begun(run)
    for number in range(1, 200):
        tracker.add(epoch(number))

    tracker.flush()

    assert run.got == list(range(1, 200))
    assert run.asked < 10


def test_a_server_that_is_back_gets_everything_once(caplog: pytest.LogCaptureFixture) -> None:
    run = Run(down)
    tracker = begun(run)
    tracker.add(epoch(1))
    wait_until(lambda: run.asked > 2)
    run.fails = None
    tracker.add(epoch(2))

    wait_until(lambda: run.got == [1, 2])
    tracker.add(epoch(3))
    tracker.finish(epoch(3), {})

    assert run.got == [1, 2, 3]
    assert [each.message for each in caplog.records] == [
        "MLflow at lab: Connection refused: the training goes on, and its numbers are sent later"
    ]


@pytest.mark.parametrize(("fails", "why"), [(refused, "401 Unauthorized"), (broken, "ZeroDivisionError")])
def test_a_server_that_refuses_is_not_asked_again(
    caplog: pytest.LogCaptureFixture, fails: Callable[[], Exception], why: str
) -> None:
    run = Run(fails)
    tracker = begun(run)
    wait_until(lambda: bool(caplog.records))
    tracker.add(epoch(1))

    tracker.flush()
    tracker.finish(epoch(1), {})

    assert run.asked == 1
    assert [each.message for each in caplog.records] == [f"MLflow at lab: {why}: the training goes on without it"]


def test_the_end_asks_a_server_that_is_down_once_more_and_does_not_wait() -> None:
    run = Run(down)
    tracker = Tracker(run, "MLflow at lab", pause=300)
    tracker.begin([])
    wait_until(lambda: run.asked == 1)
    tracker.add(epoch(1))
    began = time.monotonic()

    tracker.flush()
    tracker.finish(epoch(1), {})

    assert run.asked == 2
    assert time.monotonic() - began < 4


def test_the_end_waits_some_seconds_for_a_server_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    run.may_answer.clear()
    tracker = begun(run)
    began = time.monotonic()

    tracker.finish(epoch(1), {})

    assert 4 < time.monotonic() - began < 60
    assert [each.message for each in caplog.records] == [
        "MLflow at lab: it has not answered in time: the end of this training is not tracked"
    ]
    run.may_answer.set()
