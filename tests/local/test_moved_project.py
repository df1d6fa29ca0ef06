"""A project whose folder was renamed or copied continues its runs at their new path."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

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
    status, report = laptop.qtj("status"), laptop.qtj("report")
    laptop.write(toy_job(epochs=2, inference={"args": ["infer", "--again"]}))

    ended = laptop.qtj("run", "job.yaml", "--resume", "-o", "json")

    assert (ended.code, ended.status["phase"]) == (0, "Complete"), ended.errors
    assert ended.status["attempt"] == 1, "nothing was trained again"
    assert ended.status["weights"]["uri"] == (laptop.artifacts() / "weights.h5").as_uri()
    assert f"weights     {(laptop.artifacts() / 'weights.h5').as_uri()}\n" in status.output
    assert "1 of 2 held-out examples are in the right class" in report.output


def test_a_folder_of_ones_choice_is_found_where_it_was_moved(tmp_path: Path, cleanup: ExitStack) -> None:
    laptop = moved(tmp_path, cleanup, where=("--artifacts", "mine"))
    (laptop.folder / "mine").rename(laptop.folder / "yours")
    laptop.write(toy_job(epochs=2, inference={"args": ["infer", "--again"]}))

    ended = laptop.qtj("run", "job.yaml", "--resume", "--artifacts", "yours", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["weights"]["uri"] == (laptop.folder / "yours/weights.h5").as_uri()
