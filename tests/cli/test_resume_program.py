"""A run of a program of one's own is continued by the same program only, and else says what changed."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from qtj.local.folder import Folder
from qtj.runs.folders import run_named
from qtj.runs.prepare import RunPlan, claim, plan_runs
from qtj.runs.programs import earlier_programs, programs_of
from qtj.runs.resume_policy import EarlierRun, Start
from qtj.terminal.errors import InputError
from qtj_contract.origin import Origin, machine
from tests.cli.earlier import Desk, start
from tests.local.laptop import toy_job

_AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")
PROGRAM = "import ansatz\nRATE = 0.1\nrows = open('rows.csv')\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    for name, text in {"mine.py": PROGRAM, "ansatz.py": "LAYERS = 1\n", "rows.csv": "1\n"}.items():
        (tmp_path / name).write_text(text)
    return Desk(tmp_path)


def own(*arguments: str, command: tuple[str, ...] = ("python", "mine.py"), **spec: Any) -> dict[str, Any]:
    job = toy_job(**spec)
    job["spec"]["template"]["spec"]["containers"][0] |= {"command": list(command), "args": list(arguments)}
    return job


def interrupted(desk: Desk, job: dict[str, Any], number: int = 1, phase: str = "Running") -> EarlierRun:
    """A run that was claimed as `qtj run` does, and then interrupted, unless it has a phase of its end."""
    document, folder = desk.written(job), Folder(Path(f"qtj-artifacts/toy/{number}"))
    with ExitStack() as stack:
        claim(RunPlan(document, Start(spec=document.manifest["spec"]), None, None), stack)
        metadata = {**document.manifest["metadata"], "uid": "uid-1"}
        folder.save({**document.manifest, "metadata": metadata, "status": {"phase": phase}})
    return EarlierRun.of(f"toy/{number}", folder)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("mine.py", PROGRAM.replace("0.1", "0.5"), "mine.py changed: 1 line"),
        ("ansatz.py", "LAYERS = 3\nX = 1\n", "ansatz.py changed: 2 lines"),
        ("rows.csv", "2\n", "rows.csv changed"),
    ],
)
def test_another_program_starts_over_and_says_what_changed(desk: Desk, name: str, text: str, words: str) -> None:
    earlier = interrupted(desk, own("--seed", "0"))
    Path(name).write_text(text)

    found = start(desk.written(own("--seed", "0")), earlier)

    assert found.earlier is None
    assert found.note == f"starts over, because {words}; toy/1 was interrupted, and --resume would continue it"


def test_the_same_program_continues(desk: Desk) -> None:
    earlier = interrupted(desk, own("--seed", "0"))
    Path("unused.py").write_text("other")

    found = start(desk.written(own("--seed", "0")), earlier)

    assert (found.earlier, found.note) == (earlier, "continues toy/1, which was interrupted: --fresh starts over")


@pytest.mark.parametrize("seed", ["0", "1"])
def test_an_edit_or_a_seed_that_is_undone_continues_what_was_interrupted_before_it(desk: Desk, seed: str) -> None:
    interrupted(desk, own("--seed", "0"))
    Path("ansatz.py").write_text("LAYERS = 3\n" if seed == "0" else "LAYERS = 1\n")
    interrupted(desk, own("--seed", seed), 2)
    Path("ansatz.py").write_text("LAYERS = 1\n")

    [plan] = plan_runs([desk.written(own("--seed", "0"))], None, resume=False, fresh=False)

    assert plan.start.earlier
    assert plan.start.earlier.name == "toy/1"
    assert plan.start.note == "continues toy/1, which was interrupted: --fresh starts over"


def test_a_run_that_is_continued_is_the_last_one_of_its_job(desk: Desk) -> None:
    interrupted(desk, own("--seed", "0"))
    interrupted(desk, own("--seed", "1"), 2)
    [plan] = plan_runs([desk.written(own("--seed", "0"))], None, resume=False, fresh=False)
    before = run_named("toy").name

    with ExitStack() as stack:
        claim(plan, stack)

    assert (before, run_named("toy").name, run_named("toy/2").name) == ("toy/2", "toy/1", "toy/2")


def test_an_interrupted_seed_continues_while_another_one_runs(desk: Desk) -> None:
    interrupted(desk, own("--seed", "0"))
    other = interrupted(desk, own("--seed", "1"), 2).folder
    other.take()

    [plan] = plan_runs([desk.written(own("--seed", "0"))], None, resume=False, fresh=False)
    with pytest.raises(InputError, match=r"^toy/2 is active in "):
        plan_runs([desk.written(own("--seed", "1"))], None, resume=False, fresh=False)
    other.release()

    assert plan.start.earlier
    assert plan.start.earlier.name == "toy/1"


def test_who_wants_to_continue_one_of_several_seeds_gets_the_run_with_its_arguments(desk: Desk) -> None:
    interrupted(desk, own("--seed", "0", "--epochs", "4"))
    last = interrupted(desk, own("--seed", "1", "--epochs", "4"), 2).folder

    [plan] = plan_runs([desk.written(own("--seed", "0", "--epochs", "9"))], None, resume=True, fresh=False)
    with pytest.raises(InputError, match=r"it was changed since the run to continue \(--seed 1 -> 2\)"):
        plan_runs([desk.written(own("--seed", "2", "--epochs", "4"))], None, resume=True, fresh=False)
    last.take()
    with pytest.raises(InputError, match=r"^toy/2 is active in "):
        plan_runs([desk.written(own("--seed", "1", "--epochs", "9"))], None, resume=True, fresh=False)
    last.release()

    assert plan.start.earlier
    assert plan.start.earlier.name == "toy/1"


def test_a_damaged_record_of_the_last_run_is_refused_though_an_older_one_could_continue(desk: Desk) -> None:
    interrupted(desk, own("--seed", "0"))
    (interrupted(desk, own("--seed", "1"), 2).folder.path / "job.json").write_text("{")

    with pytest.raises(InputError, match=r"job\.json is not the record of a job"):
        plan_runs([desk.written(own("--seed", "0"))], None, resume=False, fresh=False)


def test_a_run_that_is_active_keeps_an_older_one_of_the_same_from_starting_beside_it(desk: Desk) -> None:
    interrupted(desk, own("--seed", "0"))
    active = interrupted(desk, own("--seed", "0"), 2).folder
    active.take()

    with pytest.raises(InputError, match=r"^toy/2 is active in "):
        plan_runs([desk.written(own("--seed", "0"))], None, resume=False, fresh=False)
    active.release()


def test_a_newer_run_of_the_same_that_is_complete_stays_the_one_that_counts(desk: Desk) -> None:
    interrupted(desk, own("--seed", "0"))
    interrupted(desk, own("--seed", "0"), 2, "Complete")
    interrupted(desk, own("--seed", "1"), 3)

    [plan] = plan_runs([desk.written(own("--seed", "0"))], None, resume=False, fresh=False)

    assert plan.start.earlier is None
    assert "toy/3" in plan.start.note


def test_what_it_came_from_is_recorded_before_it_starts(desk: Desk) -> None:
    earlier = interrupted(desk, own("--seed", "0"))

    origin = Origin.from_bytes((earlier.folder.path / "source/1/origin.json").read_bytes())

    assert origin == Origin(machine=machine())  # this folder is in no repository


def test_the_commit_is_that_of_the_folder_in_which_the_program_runs(desk: Desk) -> None:
    there = Path("elsewhere")
    there.mkdir()
    Path("mine.py").rename(there / "mine.py")
    for words in (["init", "-q"], ["add", "."], [*_AUTHOR, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(there), *words], check=True)
    job = own()
    job["spec"]["template"]["spec"]["containers"][0]["workingDir"] = str(there.absolute())

    earlier = interrupted(desk, job)

    origin = Origin.from_bytes((earlier.folder.path / "source/1/origin.json").read_bytes())
    head = subprocess.run(["git", "-C", str(there), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert origin.commit == head.stdout.strip()


def test_another_seed_starts_over_and_is_named(desk: Desk) -> None:
    earlier = interrupted(desk, own("--seed", "0"))
    Path("mine.py").write_text(PROGRAM + "\n")

    found = start(desk.written(own("--seed", "1")), earlier)

    assert found.note == (
        "starts over, because the spec has changed since toy/1 (--seed 0 -> 1; mine.py changed: 1 line), which stays "
        "as it is"
    )


def test_who_resumes_all_the_same_is_told_and_both_programs_are_kept(desk: Desk) -> None:
    earlier = interrupted(desk, own())
    Path("mine.py").write_text("RATE = 1\n")
    document = desk.written(own())

    found = start(document, earlier, resume=True)
    with ExitStack() as stack:
        claim(RunPlan(document, found, None, None), stack)

    assert found.note == (
        "ansatz.py is not used any more; mine.py changed: 3 lines since toy/1, and this continues its training with "
        "another program"
    )
    kept = earlier.folder.path / "source"
    assert (kept / "1/mine.py").read_text() == PROGRAM
    assert (kept / "2/mine.py").read_text() == "RATE = 1\n"
    assert earlier.programs == programs_of(document.manifest["spec"], {})


def test_a_run_that_was_not_recorded_with_its_program_continues(desk: Desk) -> None:
    found = start(desk.written(own()), desk.ended("Running", own()))

    assert found.earlier


def test_more_epochs_of_the_same_program_continue_without_a_word(desk: Desk) -> None:
    earlier = interrupted(desk, own("--epochs=3"))

    assert start(desk.written(own("--epochs=9")), earlier, resume=True).note == ""


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("python", "-u", "mine.py"), ["mine.py"]),
        (("python", "-m", "ansatz"), ["ansatz"]),
        (("torchrun", "--nproc-per-node=2", "./mine.py"), ["./mine.py"]),
        (("sh", "-c", "python mine.py"), []),
        (("python", "nowhere.py"), []),
        (("python", "x" * 5000), []),
    ],
)
def test_programs_are_found_in_commands(desk: Desk, command: tuple[str, ...], names: list[str]) -> None:
    assert list(programs_of(desk.written(own(command=command)).manifest["spec"], {})) == names


def test_damaged_sources_count_as_unknown(desk: Desk) -> None:
    earlier = interrupted(desk, own())
    (earlier.folder.path / "source/1/source.json").write_text("{")

    assert earlier_programs(earlier.folder.path) is None
