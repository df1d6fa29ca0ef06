"""A project whose folder was renamed or copied continues its runs at their new path."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from qtj.local.folder import Folder
from tests.local.laptop import Laptop, toy_job


@pytest.fixture
def cleanup() -> Iterator[ExitStack]:
    with ExitStack() as cleanup:
        yield cleanup


def moved(tmp_path: Path, cleanup: ExitStack, *, copied: bool = False, where: tuple[str, ...] = ()) -> Laptop:
    """A complete run whose project has another folder since, whose name needs quoting."""
    old, new = tmp_path / "old", tmp_path / "new place"
    old.mkdir()
    laptop = Laptop(old, cleanup)
    laptop.write(toy_job(epochs=2))
    ended = laptop.qtj("run", "job.yaml", *where)
    assert ended.code == 0, ended.errors
    if copied:
        shutil.copytree(old, new, symlinks=True)
    else:
        old.rename(new)
    return Laptop(new, cleanup)


@pytest.mark.parametrize("copied", [False, True])
def test_inference_after_a_move_judges_the_weights_where_they_are_now(
    tmp_path: Path,
    cleanup: ExitStack,
    copied: bool,
) -> None:
    laptop = moved(tmp_path, cleanup, copied=copied)
    laptop.write(toy_job(epochs=2, inference={"args": ["infer", "--again"]}))

    ended = laptop.qtj("run", "job.yaml", "--resume", "-o", "json")

    assert (ended.code, ended.status["phase"]) == (0, "Complete"), ended.errors
    assert ended.status["attempt"] == 1, "nothing was trained again"
    assert ended.status["weights"]["uri"] == (laptop.artifacts() / "weights.h5").as_uri()


def test_status_and_report_after_a_move_name_the_new_place(tmp_path: Path, cleanup: ExitStack) -> None:
    laptop = moved(tmp_path, cleanup)

    status, report = laptop.qtj("status"), laptop.qtj("report")

    assert f"weights     {(laptop.artifacts() / 'weights.h5').as_uri()}\n" in status.output
    assert "1 of 2 held-out examples are in the right class" in report.output


def test_a_folder_of_ones_choice_is_found_where_it_was_moved(tmp_path: Path, cleanup: ExitStack) -> None:
    laptop = moved(tmp_path, cleanup, where=("--artifacts", "mine"))
    (laptop.folder / "mine").rename(laptop.folder / "yours")
    laptop.write(toy_job(epochs=2, inference={"args": ["infer", "--again"]}))

    ended = laptop.qtj("run", "job.yaml", "--resume", "--artifacts", "yours", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["weights"]["uri"] == (laptop.folder / "yours/weights.h5").as_uri()


def test_weights_that_were_elsewhere_stay_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "1")
    folder.claim()
    folder.save(record("file:///data/weights.h5"))
    folder.release()

    (tmp_path / "1").rename(tmp_path / "2")

    assert Folder(tmp_path / "2").load()["status"]["weights"]["uri"] == "file:///data/weights.h5"


def test_a_move_is_known_after_a_run_that_was_killed_as_it_began(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "1")
    folder.claim()
    folder.save(record((tmp_path / "1/weights.h5").as_uri()))
    folder.release()
    (tmp_path / "1").rename(tmp_path / "2")

    Folder(tmp_path / "2").claim()  # and nothing after that

    assert Folder(tmp_path / "2").load()["status"]["weights"]["uri"] == (tmp_path / "2/weights.h5").as_uri()


def record(weights: str) -> dict[str, object]:
    meta = {"name": "own", "namespace": "default", "uid": "uid-1"}
    return {"kind": "QuantumTrainingJob", "metadata": meta, "spec": {}, "status": {"weights": {"uri": weights}}}
