"""`qtj prune` and `qtj stop`: which runs are old, what is removed, what stays, and how an active one ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any, Self

import pytest

from qtj.local.folder import Folder
from qtj.local.history import History
from qtj.runs.prune import old_runs, remove_runs
from qtj.runs.stop import stop_run
from qtj.terminal.errors import InputError
from tests.cli.qtj import qtj
from tests.cli.recorded import found, make_run, recorded

pytestmark = pytest.mark.usefixtures("folder")


def old(job: str | None = None, keep: int = 1) -> list[tuple[str, str]]:
    return [(each.run.name, each.phase) for each in old_runs(job, keep)]


@pytest.fixture
def active() -> Iterator[Folder]:
    """The second of three runs, which is under way."""
    make_run(phase="Complete")
    run = make_run(phase="Running")
    make_run(phase="Failed")
    run.claim()
    yield run
    run.release()


def test_all_but_the_last_runs_of_each_job_are_old() -> None:
    for phase in ("Complete", "Failed", "Running"):
        make_run("a", phase=phase)
    make_run("b", phase="Complete")

    assert old() == [("a/1", "Complete"), ("a/2", "Failed")]
    assert old(keep=2) == [("a/1", "Complete")]
    assert old(keep=0) == [("a/1", "Complete"), ("a/2", "Failed"), ("a/3", "Interrupted"), ("b/1", "Complete")]
    assert old("b", keep=0) == [("b/1", "Complete")]
    assert old(keep=9) == []


def test_the_run_that_was_continued_last_stays() -> None:
    first, *_ = [make_run(phase="Running") for _ in range(3)]
    first.claim()
    first.release()

    assert [name for name, _ in old()] == ["toy/2", "toy/3"]
    assert [name for name, _ in old(keep=2)] == ["toy/2"]


def test_a_run_that_is_under_way_is_never_old(active: Folder) -> None:
    assert old(keep=0) == [("toy/1", "Complete"), ("toy/3", "Failed")], active
    assert old(keep=1) == [("toy/1", "Complete")]


def test_a_run_without_a_record_is_old_and_keeps_no_other_from_staying() -> None:
    make_run(phase="Complete")
    (make_run(phase="Complete").path / "job.json").unlink()

    assert old() == [("toy/2", "without a record")]


def test_the_size_of_a_run_is_that_of_all_its_files() -> None:
    run = make_run(phase="Complete")
    (run.path / "logs/toy-worker-0.1.log").write_bytes(b"x" * 1000)
    before = old_runs(None, 0)[0].size
    (run.path / "logs/toy-worker-1.1.log").write_bytes(b"x" * 234)

    assert old_runs(None, 0)[0].size - before == 234


def test_what_a_link_in_a_run_leads_to_is_not_counted(tmp_path: Path) -> None:
    run = make_run(phase="Complete")
    before = old_runs(None, 0)[0].size
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    (run.path / "data").symlink_to(tmp_path / "large")

    assert old_runs(None, 0)[0].size - before < 1000


def test_removing_leaves_the_other_runs_and_their_numbers() -> None:
    for _ in range(3):
        make_run(phase="Complete")

    remove_runs(old_runs(None, 1))

    assert [run.name for run in History().runs("toy")] == ["toy/3"]
    assert make_run().path.name == "4"


def test_the_folder_of_a_job_goes_with_its_last_run_unless_something_else_is_in_it() -> None:
    make_run("a", phase="Complete")
    (make_run("b", phase="Complete").path.parent / "notes.txt").touch()

    remove_runs(old_runs(None, 0))

    assert [path.name for path in History().root.iterdir()] == ["b"]


def test_of_a_run_elsewhere_only_the_link_is_removed(folder: Path) -> None:
    elsewhere = Folder(folder / "mine")
    elsewhere.claim()
    elsewhere.save(recorded(phase="Complete"))
    elsewhere.release()
    History().link("toy", elsewhere)
    [found] = old_runs(None, 0)

    remove_runs([found])

    assert found.size == 0
    assert not (folder / "qtj-artifacts/toy").exists()
    assert (elsewhere.path / "job.json").is_file()
    assert not elsewhere.is_active


def test_a_run_that_was_continued_meanwhile_stays_and_those_before_it_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qtj.local.folder.WAIT_SECONDS", 0.05)
    make_run("a", phase="Complete")
    continued = make_run("b", phase="Running")
    found = old_runs(None, 0)
    continued.claim()

    with pytest.raises(InputError, match=f"b/1 stays: another qtj run uses {continued.path}: wait for its end"):
        remove_runs(found)
    continued.release()

    assert History().jobs() == ["b"]


def test_a_run_that_somebody_else_removed_meanwhile_is_named() -> None:
    make_run(phase="Complete")
    found = old_runs(None, 0)
    remove_runs(found)

    with pytest.raises(InputError, match=r"cannot remove .*toy/1 \(No such file or directory\): remove it yourself"):
        remove_runs(found)


def test_without_an_old_run_nothing_is_asked() -> None:
    make_run(phase="Complete")

    assert qtj("prune").output == "there is no old run to remove\n"


def test_yes_removes_without_asking_and_names_each() -> None:
    for phase in ("Failed", "Complete"):
        make_run(phase=phase)

    answer = qtj("prune", "--yes")

    assert answer.code == 0
    assert answer.output.startswith("toy/1  Failed  ")
    assert [run.name for run in History().runs("toy")] == ["toy/2"]


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
