"""Which run a name on the command line means, and the sentence on a name that means none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from qtj.local.folder import Folder
from qtj.local.history import History
from qtj.runs.folders import find_run, folder_named, job_and_folder, jobs_named, run_named
from qtj.runs.summary import note_on_unlisted
from qtj.terminal.errors import InputError
from tests.cli.recorded import make_run, recorded

pytestmark = pytest.mark.usefixtures("folder")


def refusal(ask: Callable[[], object]) -> str:
    with pytest.raises(InputError) as refused:
        ask()
    return str(refused.value)


def never_began(job: str) -> Folder:
    """The folder of a run that was stopped before its job existed."""
    folder = History().make_folder(job)
    folder.claim()
    folder.release()
    return folder


def test_a_job_means_its_last_run_and_a_number_means_that_one() -> None:
    for _ in range(11):
        make_run()

    assert run_named("toy").name == "toy/11"
    assert run_named("toy/1").name == "toy/1"
    assert run_named("toy/10").number == 10


def test_without_a_name_the_run_that_changed_last_is_meant() -> None:
    make_run("b", changed=300)
    make_run("a", changed=100)
    make_run("c", changed=200)

    assert run_named(None).name == "b/1"


def test_a_run_that_never_began_is_meant_only_where_there_is_no_other() -> None:
    never_began("lone")
    make_run("toy")
    never_began("toy")

    assert run_named("toy").name == "toy/1"
    assert run_named("lone").name == "lone/1"
    assert run_named("toy/2").name == "toy/2"


def test_in_a_folder_where_nothing_began_no_name_means_anything() -> None:
    never_began("toy")

    assert refusal(lambda: run_named(None)) == "there is no run in this folder yet: qtj run FILE starts one"


@pytest.mark.parametrize("name", ["", "/", "toy/", "toy/0", "toy/01", "toy/x", "toy/1/2", "Toy", "../toy", "toy\n"])
def test_a_name_of_another_form_is_quoted(name: str) -> None:
    make_run()

    assert refusal(lambda: run_named(name)) == (
        f'"{name}" is not a run: write JOB for its last run, or JOB/NUMBER, as `qtj list` shows it'
    )


def test_a_number_that_is_not_there_is_answered_with_those_that_are() -> None:
    make_run()
    make_run()

    assert refusal(lambda: run_named("toy/3")) == "there is no run toy/3 in this folder: there are toy/1, toy/2"


def test_a_misspelt_job_is_answered_with_the_job_it_may_mean() -> None:
    make_run("qcnn")

    sentence = "the job qcn was not run in this folder: write qcnn: `qtj list` shows what was"
    assert refusal(lambda: run_named("qcn")) == sentence
    assert refusal(lambda: jobs_named("qcn")) == sentence


def test_a_job_unlike_any_other_is_answered_without_a_guess() -> None:
    make_run("qcnn")

    assert refusal(lambda: jobs_named("zzz")) == ("the job zzz was not run in this folder: `qtj list` shows what was")


def test_all_jobs_or_the_one_that_is_named_are_listed() -> None:
    make_run("b")
    make_run("a")

    assert jobs_named(None) == ["a", "b"]
    assert jobs_named("b") == ["b"]


@pytest.mark.parametrize("job", ["../toy", "toy/1", ".", ""])
def test_what_is_no_name_of_a_job_leads_to_no_other_folder(job: str, folder: Path) -> None:
    make_run()
    (folder / "toy").mkdir()

    assert "was not run in this folder" in refusal(lambda: jobs_named(job))


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("mine", "mine"),
        ("./deep/er", "deep/er"),
        ("{folder}/mine", "mine"),
        ("file://{folder}/with%20space", "with space"),
    ],
)
def test_artifacts_may_be_a_path_or_the_address_of_one(written: str, path: str, folder: Path) -> None:
    named = folder_named(written.format(folder=folder))

    assert named is not None
    assert named.path == folder / path


def test_artifacts_in_the_home_of_the_user_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))

    named = folder_named("~/runs")

    assert named is not None
    assert named.path == folder / "home/runs"


@pytest.mark.parametrize("artifacts", [None, "gs://bucket", "gs://bucket/some/path"])
def test_no_artifacts_and_those_in_a_bucket_are_no_folder(artifacts: str | None) -> None:
    assert folder_named(artifacts) is None


@pytest.mark.parametrize("artifacts", ["s3://bucket/x", "file://host/x", "file:/x", "http://x/y", "gs:/bucket"])
def test_another_address_is_refused_with_the_forms_there_are(artifacts: str) -> None:
    assert refusal(lambda: folder_named(artifacts)) == (
        f"--artifacts {artifacts}: name a folder, file:///PATH or gs://BUCKET/PATH"
    )


def test_a_path_with_a_colon_is_a_path(folder: Path) -> None:
    named = folder_named("12:30")

    assert named is not None
    assert named.path == folder / "12:30"


@pytest.mark.parametrize("artifacts", ["", " ", "\t\n"])
def test_artifacts_of_white_space_alone_are_empty(artifacts: str) -> None:
    assert refusal(lambda: folder_named(artifacts)).startswith("--artifacts is empty: name a folder,")


def in_folder(folder: Path, job: str = "toy") -> Folder:
    run = Folder(folder / "mine")
    run.claim()
    run.save(recorded(job, phase="Complete"))
    run.release()
    return run


def test_a_run_elsewhere_is_found_by_its_folder_and_called_by_its_job(folder: Path) -> None:
    in_folder(folder)

    for name in (None, "toy"):
        run = find_run(name, "mine")
        assert (run.name, run.folder.path, run.job["status"]["phase"]) == ("toy", folder / "mine", "Complete")


def test_a_folder_that_holds_another_job_is_refused_with_both_names(folder: Path) -> None:
    in_folder(folder)

    assert refusal(lambda: find_run("qcnn", "mine")) == (
        f"{folder / 'mine'} holds the job toy, not qcnn: write toy, or name another --artifacts"
    )


def test_a_folder_without_a_run_is_a_sentence(folder: Path) -> None:
    assert refusal(lambda: find_run(None, "mine")) == (
        f"there is no run in {folder / 'mine'}: nothing was run there yet"
    )


def test_the_logs_of_a_run_are_found_although_its_record_is_damaged(folder: Path) -> None:
    elsewhere, here = in_folder(folder), make_run()
    for run in (elsewhere, here):
        (run.path / "job.json").write_text("{")

    assert job_and_folder("toy")[1].path == here.path
    assert job_and_folder("toy")[0] == "toy"
    assert [job_and_folder(name, "mine")[0] for name in ("toy", None)] == ["toy", ""]
    assert job_and_folder("toy", "mine")[1].path == elsewhere.path


def test_of_several_runs_the_named_one_is_found() -> None:
    for job in ("a", "b"):
        make_run(job, changed=100, phase="Complete")
    make_run("c", changed=200, phase="Failed")

    assert [find_run(name).name for name in ("a", "b/1", None)] == ["a/1", "b/1", "c/1"]
    assert [job_and_folder(name)[0] for name in ("a", "b/1", None)] == ["a", "b", "c"]


def test_the_name_of_another_job_does_not_open_the_logs_of_a_folder(folder: Path) -> None:
    in_folder(folder)

    assert "holds the job toy, not qcnn" in refusal(lambda: job_and_folder("qcnn", "mine"))


def test_a_status_that_was_edited_is_left_out_as_far_as_it_cannot_be_read() -> None:
    make_run(phase="Complete", attempt="two", progress={"epoch": 3, "loss": "low"})

    assert find_run("toy").job["status"] == {"phase": "Complete", "progress": {"epoch": 3}}


def test_a_run_whose_record_is_about_to_be_written_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run = History().make_folder("toy")
    run.claim()
    waited: list[float] = []

    def write(seconds: float) -> None:
        waited.append(seconds)
        run.save(recorded(phase="Pending"))

    monkeypatch.setattr("qtj.runs.folders.time.sleep", write)

    assert find_run("toy").job["status"] == {"phase": "Pending"}
    assert len(waited) == 1
    run.release()


def test_the_logs_of_a_folder_where_nothing_ran_are_not_found(folder: Path) -> None:
    (folder / "mine").mkdir()

    assert "nothing was run there yet" in refusal(lambda: job_and_folder(None, "mine"))
    assert job_and_folder(None, str(in_folder(folder).path))[0] == "toy"


def test_a_training_without_a_job_is_named_beside_the_runs() -> None:
    make_run()
    assert note_on_unlisted() == ""

    for name in ("program", "program-2"):
        Path("qtj-artifacts", name, "checkpoints").mkdir(parents=True)

    assert note_on_unlisted() == (
        "qtj-artifacts/program, qtj-artifacts/program-2: of programs that were started without qtj; start it with qtj "
        "run FILE.py, and it is listed here"
    )
    assert refusal(lambda: run_named("program-2")) == (
        "qtj-artifacts/program-2 has no record, because its program was started without qtj: use qtj run FILE.py"
    )
