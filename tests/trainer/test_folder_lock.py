"""Which processes may train in the same folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qtj_trainer.program.folder_lock import release, take

TAKES = """
import sys
from pathlib import Path
from qtj_trainer.program.folder_lock import take
sys.exit(0 if take(Path(sys.argv[1]), shared=sys.argv[2] == "True") else 1)
"""
LEAVES_A_CHILD = """
import os, sys
from pathlib import Path
from qtj_trainer.program.folder_lock import take
take(Path(sys.argv[1]), shared=False)
if os.fork():
    os._exit(0)
print("forked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "program"
    release(tmp_path / "program")


def beside(folder: Path, *, shared: bool) -> bool:
    """Returns whether another process can take a folder."""
    return not subprocess.run([sys.executable, "-c", TAKES, str(folder), str(shared)], check=False).returncode


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
    command = [sys.executable, "-c", LEAVES_A_CHILD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "forked\n"
        parent.wait()

        assert take(folder, shared=False)
