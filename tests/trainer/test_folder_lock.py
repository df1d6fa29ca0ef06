"""Which processes may train in the same folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from qtj_trainer.program.folder_lock import release, take


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "program"
    release(tmp_path / "program")


def beside(folder: Path, *, shared: bool) -> bool:
    """Returns whether another process, a child of this one, can take a folder."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os._exit(0 if take(folder, shared=shared) else 1)


@pytest.mark.parametrize("shared", [False, True])
def test_only_workers_share_a_folder(folder: Path, shared: bool) -> None:
    assert take(folder, shared=shared)

    assert take(folder, shared=shared), "it is its own"
    assert beside(folder, shared=True) is shared
    assert not beside(folder, shared=False)


def test_a_released_folder_is_free(folder: Path) -> None:
    take(folder, shared=False)

    release(folder)

    assert beside(folder, shared=False)


def test_a_child_that_outlives_its_parent_does_not_hold_the_folder(folder: Path) -> None:
    take(folder, shared=False)
    waiting, ended = os.pipe()
    if not (child := os.fork()):
        os.close(ended)
        os.read(waiting, 1)
        os._exit(0)

    release(folder)
    is_free = beside(folder, shared=False)

    os.close(ended)
    os.close(waiting)
    os.waitpid(child, 0)
    assert is_free
