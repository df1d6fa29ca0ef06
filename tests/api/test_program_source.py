"""What belongs to a program is found without running it, and what has changed is named in a few words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from qtj_contract.program_source import ProgramSource, read_source

SCRIPT = """import argparse
import numpy
from layers import ansatz
from tools.data import load
X = load('rows.csv')
LR = 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "train.py": SCRIPT,
        "layers.py": "import shapes\n",
        "shapes.py": "DEPTH = 2\n",
        "unused.py": "raise\n",
        "tools/__init__.py": "",
        "tools/data.py": "from . import rows\nfrom .deep.down import x\n",
        "tools/rows.py": "import train  # in a circle\n",
        "tools/deep/down.py": "x = 1\n",
        "rows.csv": "1,2\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def source(folder: Path, *arguments: str) -> ProgramSource:
    return read_source(folder / "train.py", arguments, folder=folder)


def test_its_modules_are_those_of_its_folder_that_it_imports(folder: Path) -> None:
    found = source(folder)

    names = ["layers.py", "shapes.py", "tools/__init__.py", "tools/data.py", "tools/deep/down.py", "tools/rows.py"]
    assert list(found.code) == [*names, "train.py"]
    assert found.code["train.py"] == SCRIPT
    assert list(found.data) == ["rows.csv"]


def test_it_comes_back_from_its_text(folder: Path) -> None:
    found = source(folder, "--seed=3")

    assert ProgramSource.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"script": 1, "code": [], "data": {}, "arguments": []}', "nonsense"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ProgramSource.from_dict(json.loads(text))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: None, []),
        (lambda folder: (folder / "unused.py").write_text("else"), []),
        (
            lambda folder: (folder / "layers.py").write_text("import shapes\nA = 1\nB = 2\n"),
            ["layers.py changed: 2 lines"],
        ),
        (lambda folder: (folder / "train.py").write_text(SCRIPT.replace("0.1", "0.2")), ["train.py changed: 1 line"]),
        (lambda folder: (folder / "tools/deep/down.py").unlink(), ["tools/deep/down.py is not used any more"]),
        (lambda folder: (folder / "numpy.py").write_text(""), ["numpy.py is new"]),
        (lambda folder: (folder / "rows.csv").write_text("1,3\n"), ["rows.csv changed"]),
        (lambda folder: (folder / "train.py").write_text("x ="), None),
        (lambda folder: (folder / "train.py").write_bytes(b"\xff\0"), None),
    ],
)
def test_what_changed_is_named(folder: Path, change: Callable[[Path], None], words: list[str] | None) -> None:
    before = source(folder)
    change(folder)

    found = source(folder).changes_since(before)

    assert found == words if words is not None else any("train.py" in each for each in found)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (["--seed", "0"], ["--seed", "1"], ["--seed 0 -> 1"]),
        (["--seed=0"], ["--seed", "0"], []),
        (["--seed", "0", "--lr", "1e-3"], ["--lr=0.1", "--seed", "0"], ["--lr 1e-3 -> 0.1"]),
        ([], ["--fast"], ["--fast not given -> given"]),
        (["--lr", "-1"], ["--lr", "-2"], ["-1 given -> not given", "-2 not given -> given"]),
        (["train", "0"], ["train", "1"], ["arguments train 0 -> train 1"]),
        (["--a", "1", "--a", "2"], [], ["arguments --a 1 --a 2 -> none"]),
    ],
)
def test_changed_arguments_are_named_with_both_values(
    folder: Path, before: list[str], now: list[str], words: list[str]
) -> None:
    assert source(folder, *now).changes_since(source(folder, *before)) == words


def test_a_file_that_an_argument_names_belongs_to_it(folder: Path) -> None:
    (folder / "mine.npz").write_text("1")
    before = [source(folder, *each) for each in (["--data=mine.npz"], ["--data", "mine.npz"])]
    (folder / "mine.npz").write_text("2")

    for arguments, earlier in zip((["--data=mine.npz"], ["--data", "mine.npz"]), before, strict=True):
        assert source(folder, *arguments).changes_since(earlier) == ["mine.npz changed"]


def test_a_file_that_the_program_has_written_is_no_change(folder: Path) -> None:
    (folder / "train.py").write_text("open('out.csv', 'w')\nopen('/proc/uptime')\n")
    before = source(folder)
    (folder / "out.csv").write_text("0.5\n")

    assert source(folder).changes_since(before) == []


def test_text_that_cannot_be_read_is_left_out(folder: Path) -> None:
    (folder / "layers.py").write_text("#" * (2 << 20))

    assert "layers.py" not in source(folder).code


def test_a_program_of_a_package_has_the_modules_of_the_folder_above(folder: Path) -> None:
    found = read_source(folder / "tools/data.py", folder=folder, root=folder)

    assert found.script == "tools/data.py"
    assert {"tools/rows.py", "train.py", "layers.py"} <= set(found.code)
