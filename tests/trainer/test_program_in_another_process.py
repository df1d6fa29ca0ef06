"""A program in a notebook, or in a module that another program imports, leaves the process to whoever owns it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.processes import base_environment

PROGRAM = """
import numpy as np
from qtj_trainer import Program

program = Program(epochs=2)
state = program.state(weights=np.zeros(3))
for epoch in program.epochs():
    state.weights = state.weights + 1
    epoch.report(loss=1.0 / epoch.number)
program.finish(state.weights, {"mse": 0.5})
"""
OWNED = """
import atexit, signal, sys, threading

def handlers():
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), blocked, sys.excepthook

before, threads = handlers(), threading.active_count()
atexit.register(print, "exits as others do")
"""
AFTER = """
assert handlers() == before, handlers()
assert threading.active_count() == threads, threading.enumerate()
"""
NOTEBOOK = "import sys\nsys.ps1 = 'In : '\n"  # as IPython's kernels have it


def ended(folder: Path, source: str) -> tuple[int, str, str]:
    (folder / "main.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, env=base_environment(), capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_notebook_goes_on_after_finish(tmp_path: Path) -> None:
    cells = NOTEBOOK + OWNED + PROGRAM + PROGRAM + AFTER + "print('alive', state.weights)\n"

    code, output, errors = ended(tmp_path, cells)

    assert code == 0, errors
    assert output.splitlines() == ["alive [2. 2. 2.]", "exits as others do"]
    assert errors.count("epoch 1") == errors.count("epoch 2") == 2  # of both programs, each once
    assert "was never called" not in errors


def test_an_imported_program_goes_on_after_finish(tmp_path: Path) -> None:
    (tmp_path / "training.py").write_text(PROGRAM)

    code, output, errors = ended(tmp_path, OWNED + "import training\n" + AFTER + "print(training.state.weights)\n")

    assert code == 0, errors
    assert output.splitlines() == ["[2. 2. 2.]", "exits as others do"]


@pytest.mark.parametrize("elsewhere", [NOTEBOOK, ""])
def test_a_mistake_is_an_error_that_can_be_caught(tmp_path: Path, elsewhere: str) -> None:
    mistake = PROGRAM.replace("Program(epochs=2)", "Program(epochs=-2)")
    (tmp_path / "training.py").write_text(mistake)
    here = "import training" if not elsewhere else "\n    ".join(mistake.splitlines())
    caught = f"try:\n    {here}\nexcept Exception as error:\n    print(type(error).__name__, error)\n"

    code, output, errors = ended(tmp_path, elsewhere + caught)

    assert code == 0, errors
    assert output == "UserError Program's argument epochs is -2: it must be at least 1 and at most 1,000,000\n"


def test_a_script_ends_with_finish(tmp_path: Path) -> None:
    code, output, errors = ended(tmp_path, PROGRAM + "print('alive')\n")

    assert (code, output) == (0, ""), errors


def test_a_job_ends_with_finish_wherever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "training.py").write_text(PROGRAM)

    code, output, errors = ended(
        tmp_path, "import os\nos.environ['QTJ_JOB_UID'] = 'u'\nimport training\nprint('alive')\n"
    )

    assert (code, output) == (0, ""), errors
