"""How tests start programs: forked from a process that has loaded TensorFlow, or alone."""

from pathlib import Path

import pytest

from tests.trainer.processes import Trainer

PROGRAM = """
import os
import sys

print("tensorflow" in sys.modules, __name__, os.getcwd(), *sys.argv[1:])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_program_is_forked_and_the_same_as_alone(trainer: Trainer, program: Path) -> None:
    forked, alone = (each.start_program(program, "a", "b") for each in (trainer, trainer.alone))

    ended = forked.end(), alone.end()

    assert [each.was_forked for each in ended] == [True, False]
    assert ended[0].output == f"True __main__ {forked.temporary.parent} a b\n", ended[0].errors
    assert ended[1].output == f"False __main__ {alone.temporary.parent} a b\n", ended[1].errors


def test_a_program_with_a_variable_that_imports_may_read_starts_alone(trainer: Trainer, program: Path) -> None:
    assert not trainer.start_program(program, TF_USE_LEGACY_KERAS="0").end().was_forked
    assert trainer.start_program(program, QTJ_JOB_UID="uid-1").end().was_forked
