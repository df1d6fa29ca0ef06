"""Which folder each job of a `qtj run` gets, before and when it is claimed."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj.files.documents import Document, read_file
from qtj.local.folder import Folder
from qtj.local.history import History
from qtj.runs.prepare import RunPlan, claim, plan_runs
from qtj.terminal.errors import InputError
from tests.cli.recorded import make_run, recorded
from tests.local.laptop import toy_job

BUCKET = "gs://bucket/toy"
OTHER = "gs://other/toy"


@pytest.fixture
def documents(folder: Path) -> list[Document]:
    """The file of one job."""
    (folder / "job.yaml").write_text(yaml.safe_dump(toy_job()))
    return list(read_file(Path("job.yaml")).jobs)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as cleanup:
        yield cleanup


def planned(documents: list[Document], artifacts: str | None = None, **flags: bool) -> RunPlan:
    [plan] = plan_runs(documents, artifacts, **{"resume": False, "fresh": False, **flags})
    return plan


def refusal(documents: list[Document], artifacts: str | None = None, **flags: bool) -> str:
    with pytest.raises(InputError) as refused:
        planned(documents, artifacts, **flags)
    return str(refused.value)


def held(folder: Path, **status: Any) -> Folder:
    """A run in a folder of the user's choice."""
    run = Folder(folder)
    run.claim()
    run.save(recorded(**status))
    run.release()
    return run


def test_nothing_is_written_until_a_folder_is_claimed(documents: list[Document], folder: Path) -> None:
    plan = planned(documents)

    assert plan.folder.path == folder / "qtj-artifacts/toy/1"
    assert [path.name for path in folder.iterdir()] == ["job.yaml"]


def test_artifacts_go_to_the_folder_of_the_run_and_the_user_learns_so(documents: list[Document], folder: Path) -> None:
    plan = planned(documents)

    uri = (folder / "qtj-artifacts/toy/1").as_uri()
    assert plan.artifacts(plan.folder) == uri
    assert list(plan.notes(plan.folder)) == [f"toy  artifacts are stored in {uri}, not in gs://bucket/toy"]


def test_artifacts_in_the_bucket_that_the_job_names_need_no_note(documents: list[Document], folder: Path) -> None:
    plan = planned(documents, BUCKET)

    assert (plan.bucket, plan.place) == (BUCKET, None)
    assert plan.folder.path == folder / "qtj-artifacts/toy/1", "of its record"
    assert list(plan.notes(plan.folder)) == []


def test_artifacts_in_a_folder_of_the_users_choice_are_its_record_too(documents: list[Document], folder: Path) -> None:
    plan = planned(documents, "mine")

    assert plan.folder.path == folder / "mine"
    assert plan.artifacts(plan.folder) == (folder / "mine").as_uri()


def test_an_interrupted_run_continues_in_its_folder_and_its_bucket(documents: list[Document]) -> None:
    run = make_run(phase="Running", bucket=OTHER)

    plan = planned(documents)

    assert (plan.folder.path, plan.bucket) == (run.path, OTHER)
    assert plan.start.note == "continues toy/1, which was interrupted: --fresh starts over"


def test_an_interrupted_run_does_not_move_into_another_bucket(documents: list[Document], folder: Path) -> None:
    make_run(phase="Running", bucket=OTHER)

    plan = planned(documents, BUCKET)

    assert (plan.start.earlier, plan.bucket) == (None, BUCKET)
    assert plan.folder.path == folder / "qtj-artifacts/toy/2"
    assert refusal(documents, BUCKET, resume=True) == (
        "there is no run of toy in gs://bucket/toy to continue: leave --resume out"
    )


def test_a_run_continues_in_the_bucket_that_is_named_again(documents: list[Document]) -> None:
    run = make_run(phase="Running", bucket=BUCKET)

    assert planned(documents, BUCKET).folder.path == run.path


def test_fresh_does_not_even_look_at_a_run_that_is_under_way(documents: list[Document], folder: Path) -> None:
    run = make_run(phase="Running")
    run.claim()

    assert planned(documents, fresh=True).folder.path == folder / "qtj-artifacts/toy/2"
    assert refusal(documents).startswith(f"toy/1 is active in {run.path}: follow it with `qtj attach toy/1`")
    run.release()


def test_without_a_run_there_is_nothing_to_resume(documents: list[Document], folder: Path) -> None:
    assert refusal(documents, resume=True) == "there is no run of toy in this folder to continue: leave --resume out"
    assert refusal(documents, "mine", resume=True) == (
        f"there is no run of toy in {folder / 'mine'} to continue: leave --resume out"
    )


def test_a_folder_with_an_earlier_run_is_continued_or_left_alone(documents: list[Document], folder: Path) -> None:
    held(folder / "mine", phase="Complete")

    assert refusal(documents, "mine") == (
        f"{folder / 'mine'} has an earlier run, and nothing is overwritten: name another --artifacts"
    )
    assert planned(documents, "mine", resume=True).folder.path == folder / "mine"


def test_a_folder_within_the_folder_of_a_run_is_refused(documents: list[Document], folder: Path) -> None:
    held(folder / "mine", phase="Complete")

    assert refusal(documents, "mine/deep/er") == (
        f"{folder / 'mine/deep/er'} is in the folder of another run: name another --artifacts"
    )


def test_a_folder_with_other_files_is_refused(documents: list[Document], folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/thesis.tex").touch()

    assert refusal(documents, "mine").startswith(f"{folder / 'mine'} is not empty and has no run of qtj: name an")


def test_an_empty_folder_is_taken(documents: list[Document], folder: Path, stack: ExitStack) -> None:
    (folder / "mine").mkdir()

    prepared = claim(planned(documents, "mine"), stack)

    assert prepared.name == "toy/1"
    assert (folder / "qtj-artifacts/toy/1").readlink() == folder / "mine"
    assert prepared.job.artifacts == (folder / "mine").as_uri()


def test_a_claimed_folder_is_under_way_until_the_end(documents: list[Document]) -> None:
    with ExitStack() as stack:
        prepared = claim(planned(documents), stack)
        prepared.job.folder.save(recorded(phase="Pending"))

        assert (prepared.name, prepared.job.record) == ("toy/1", None)
        assert Folder(prepared.job.folder.path).is_active

    assert not Folder(prepared.job.folder.path).is_active
    assert (prepared.job.folder.path / "job.json").is_file()


def test_a_run_that_never_started_leaves_no_folder(documents: list[Document]) -> None:
    with ExitStack() as stack:
        prepared = claim(planned(documents), stack)

    assert not prepared.job.folder.path.exists()


def test_a_run_that_continues_starts_from_the_record(documents: list[Document], stack: ExitStack) -> None:
    run = make_run(phase="Failed", attempt=2)

    prepared = claim(planned(documents, resume=True), stack)

    assert prepared.job.record == run.load()
    assert prepared.job.manifest["spec"]["retry"] == 1


def test_a_run_that_another_command_continued_since_is_not_put_back(documents: list[Document]) -> None:
    run = make_run(phase="Running")
    plan = planned(documents)
    run.claim()
    run.save(recorded(phase="Complete"))
    run.release()

    with (
        ExitStack() as stack,
        pytest.raises(InputError, match="toy/1 was continued by another command: run this command"),
    ):
        claim(plan, stack)

    assert not run.is_active
    assert run.load()["status"] == {"phase": "Complete"}


def test_a_folder_that_another_command_took_since_is_not_shared(
    documents: list[Document], stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj.local.folder.WAIT_SECONDS", 0.05)
    run = make_run(phase="Running")
    plan = planned(documents)
    run.claim()

    with pytest.raises(InputError, match=f"another qtj run uses {run.path}: wait for its end, or stop it"):
        claim(plan, stack)
    run.release()


def test_two_commands_that_planned_the_same_folder_get_one_each(documents: list[Document], stack: ExitStack) -> None:
    first, second = planned(documents), planned(documents)

    names = [claim(plan, stack).name for plan in (first, second)]

    assert names == ["toy/1", "toy/2"]
    assert [run.name for run in History().runs("toy")] == names
