"""Which scripts may be forked from a process that has imported what they import."""

from pathlib import Path

import pytest

from qtj.local.forkable import imports_of

BEGIN = "from qtj_trainer import Program\n"
PYTHON = "/usr/bin/python"


def found(folder: Path, text: str, **modules: str) -> str | None:
    for name, code in {"train": text, **modules}.items():
        path = folder / f"{name}.py"
        path.write_text(code)
    return imports_of([PYTHON, "train.py", "--rate=1"], folder)


def test_the_imports_of_a_script_and_its_modules_are_found(tmp_path: Path) -> None:
    text = '"""Text."""\nfrom __future__ import annotations\nimport numpy as np\n' + BEGIN + "import model\n"
    model = (
        "import tensorflow_quantum\nimport tensorflow as tf, cirq\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import pandas\ndef made():\n    import sklearn\n    from .other import more\n"
    )

    statements = found(tmp_path, text, model=model)

    assert statements
    assert sorted(statements.splitlines()) == [
        "from qtj_trainer import Program", "import numpy as np", "import tensorflow as tf, cirq"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\n" + BEGIN,  # which then reads other variables
        "import model\n" + BEGIN,
        "print()\n" + BEGIN,
        "def made():\n    import tensorflow\n" + BEGIN,
        "if True:\n    import tensorflow\n" + BEGIN,
        "import qtj_trainer, tensorflow\n",
        "import tensorflow\n",
        "print()\n",
        "",
        "no Python",
    ],
)
def test_one_that_does_not_begin_with_our_packages_starts_alone(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text, model="") is None


@pytest.mark.parametrize(
    "line",
    [
        "import os; os.environ['A'] = '1'",
        "from os import environ as e",
        "import os; getattr(os, 'environ')",
        "import os; os.fork()",
        "import subprocess",
        "import multiprocessing.pool",
        "from concurrent.futures import ProcessPoolExecutor",
        "import sys; sys.modules",
        "import importlib",
        "__import__('jax')",
        "import keras",
        "import jax",
        "from torch import nn",
        "import unknown_package",
        "import sys; sys.path.insert(0, 'dev')",
        "from sys import path",
        "import site; site.addsitedir('dev')",
    ],
)
def test_what_a_fork_may_change_gives_it_a_start_of_its_own(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, BEGIN)
    assert found(tmp_path, f"{BEGIN}{line}\n") is None
    assert found(tmp_path, f"{BEGIN}import model\n", model=f"def later():\n    {line}\n") is None


@pytest.mark.parametrize("name", ["random", "cirq", "yaml", "absl"])
def test_a_module_that_hides_an_installed_one_gives_it_a_start_of_its_own(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, BEGIN, helpers="")
    assert found(tmp_path, BEGIN, **{name: ""}) is None


def test_names_that_a_module_lists_itself_give_it_a_start_of_its_own(tmp_path: Path) -> None:
    assert found(tmp_path, f"{BEGIN}from helpers import one\n", helpers="one = 1\n")
    assert found(tmp_path, f"{BEGIN}from helpers import *\n", helpers="one = 1\n") is None


def test_what_is_no_script_starts_alone(tmp_path: Path) -> None:
    assert found(tmp_path, BEGIN)
    for command in ([PYTHON], [PYTHON, "-c", BEGIN], [PYTHON, "-u", "train.py"], [PYTHON, "none.py"], [PYTHON, "."]):
        assert imports_of(command, tmp_path) is None
