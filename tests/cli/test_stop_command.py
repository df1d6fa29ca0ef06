"""`qtj stop`, against a run whose other process is a thread of the test."""

from collections.abc import Callable
from threading import Thread
from time import sleep
from typing import Any, Self

import pytest

from qtj.local.folder import Folder
from qtj.runs.attach import stop_run
from qtj.terminal.errors import InputError
from tests.cli.qtj import qtj
from tests.cli.recorded import found, make_run, recorded

pytestmark = pytest.mark.usefixtures("folder")


class Runner:
    """A `qtj run` of a folder: it answers each request to stop with the next of its phases."""

    def __init__(self, run: Folder, *phases: str, end: Callable[[Folder], Any] = Folder.release) -> None:
        self.killed: list[bool] = []
        self._run = run
        self._phases = phases
        self._end = end
        run.claim()
        self._thread = Thread(target=self._answer)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive(), "nobody asked it to stop"
        self._run.release()

    def _answer(self) -> None:
        for number, phase in enumerate(self._phases, start=1):
            while not self._run.is_to_stop:
                sleep(0.005)
            self.killed.append(self._run.is_to_stop_at_once)
            self._run.save(recorded(phase=phase))
            if number == len(self._phases):
                self._end(self._run)
            self._run.clear_stop_request()


@pytest.mark.parametrize(
    ("phase", "sentence"),
    [
        ("Suspended", "toy/1 is Suspended: `qtj run` of its file continues it"),
        ("Failed", "toy/1 is Failed: `qtj run` of its file with --resume continues it"),
        ("Complete", "toy/1 is Complete"),
    ],
)
@pytest.mark.parametrize("ends", [True, False], ids=["its process ends", "another job of its process runs on"])
def test_a_job_that_stopped_is_told_with_what_can_follow(phase: str, sentence: str, *, ends: bool) -> None:
    run = make_run(phase="Running")
    with Runner(run, phase, end=Folder.release if ends else lambda _: None):
        answer = stop_run(found(), at_once=False)

    assert answer == sentence


@pytest.mark.parametrize("at_once", [True, False])
def test_the_programs_are_asked_or_killed_as_the_user_wants(*, at_once: bool) -> None:
    run = make_run(phase="Running")
    with Runner(run, "Suspended") as runner:
        stop_run(found(), at_once=at_once)

    assert runner.killed == [at_once]


def test_a_job_that_restarted_as_it_was_asked_is_asked_again() -> None:
    run = make_run(phase="Running")
    with Runner(run, "Restarting", "Suspended") as runner:
        answer = stop_run(found(), at_once=False)

    assert runner.killed == [False, False]
    assert answer == "toy/1 is Suspended: `qtj run` of its file continues it"


def test_a_process_that_was_killed_instead_leaves_its_last_phase() -> None:
    run = make_run(phase="Running")
    with Runner(run, "Running"):
        assert stop_run(found(), at_once=False) == "toy/1 is Running"


@pytest.mark.parametrize(("phase", "shown"), [("Complete", "Complete"), ("Running", "Interrupted")])
def test_a_run_that_is_not_under_way_is_told_what_it_is(phase: str, shown: str) -> None:
    make_run(phase=phase)

    answer = qtj("stop", "toy")

    assert answer.code == 2
    assert answer.sentences == [f"toy/1 is not active, it is {shown}: `qtj list` shows which are"]


def test_a_record_that_is_damaged_meanwhile_is_a_sentence() -> None:
    run = make_run(phase="Running")
    damage = run.path / "job.json"

    def end(_: Folder) -> None:
        damage.write_text("{")

    with Runner(run, "Suspended", end=end), pytest.raises(InputError, match="is not the record of a job"):
        stop_run(found(), at_once=False)
