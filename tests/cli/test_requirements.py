"""A file of requirements: how it is read here, and how `qtj submit` sends it."""

from importlib.metadata import version
from pathlib import Path

import pytest

from qtj.script.documents import ProgramOptions
from qtj.script.program import not_installed, read_program, requirements_in
from qtj.submit.payload import payload_of
from qtj.submit.submit import Order, prepare
from qtj.terminal.errors import InputError
from qtj_operator.controller.client import Object

FILE = """\
# by hand
-i https://pypi.example/simple
pydantic==1.0 \\
    --hash=sha256:00 \\
    --hash=sha256:01
No.Such-Package >= 2  # why
nor.this; python_version < "3"
typer[all]
"""
HASHED = "pydantic==1.0 --hash=sha256:00\n"


def sent(folder: Path, requirements: str, *settings: str) -> tuple[Object, Object]:
    (folder / "train.py").write_text("print()\n")
    (folder / "r.txt").write_text(requirements)
    options = ProgramOptions(requirements=folder / "r.txt")
    order = Order(file=folder / "train.py", program=options, settings=settings, artifacts="gs://bucket/train")
    config_map, job = prepare(order).objects
    return config_map, job


def test_what_is_not_installed_is_one_sentence() -> None:
    assert not_installed(requirements_in(FILE)) == (
        "nothing is installed on this machine, and its Python lacks "
        f"pydantic==1.0 (it has {version('pydantic')}), No.Such-Package >= 2"
    )


def test_what_is_installed_is_not_worth_a_word() -> None:
    assert not_installed(requirements_in(f"pydantic=={version('pydantic')}\nPyYAML >= 1\nnone; x == '1'")) is None


def test_a_hash_after_a_blank_is_one_too() -> None:
    assert [each.has_hash for each in requirements_in("a==1 --hash sha256:00\nb==1")] == [True, False]


def test_names_versions_and_hashes_are_read() -> None:
    read = [(each.name, each.pinned, each.has_hash, each.is_conditional) for each in requirements_in(FILE)]

    assert read == [
        ("pydantic", "1.0", True, False),
        ("No.Such-Package", None, False, False),
        ("nor.this", None, False, True),
        ("typer", None, False, False),
    ]


def test_the_file_travels_with_the_program(tmp_path: Path) -> None:
    config_map, job = sent(tmp_path, HASHED)

    assert config_map["data"] == {"train.py": "print()\n", "r.txt": HASHED}
    assert job["spec"]["program"] == {
        "configMap": config_map["metadata"]["name"],
        "entry": "train.py",
        "requirements": {"file": "r.txt"},
    }


def test_a_file_without_hashes_is_refused_unless_the_field_allows_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pydantic in r.txt has no --hash=: add hashes to all packages"):
        sent(tmp_path, "pydantic")

    _, job = sent(tmp_path, "pydantic", "spec.program.requirements.hashes=Optional")

    assert job["spec"]["program"]["requirements"] == {"file": "r.txt", "hashes": "Optional"}


def test_a_name_that_no_config_map_can_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print()\n")
    (tmp_path / "my r.txt").write_text(HASHED)
    options = ProgramOptions(requirements=tmp_path / "my r.txt")

    with pytest.raises(InputError, match=r"spec\.program\.requirements\.file: must be a key of the ConfigMap"):
        prepare(Order(file=tmp_path / "train.py", program=options, artifacts="gs://bucket/train"))


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/r.txt").write_text(HASHED)
    (tmp_path / "r.txt").write_text("rows")
    (tmp_path / "train.py").write_text("open('r.txt')\n")

    with pytest.raises(InputError, match=r"train.py has another file r.txt beside it: rename one of them"):
        payload_of(read_program(tmp_path / "train.py", (), tmp_path / "other/r.txt"))


def test_they_are_for_a_program(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--requirements is for a program in Python, and job.yaml is none"):
        ProgramOptions(requirements=tmp_path / "r.txt").check_unused(Path("job.yaml"))


def test_the_command_that_continues_a_run_names_them() -> None:
    options = ProgramOptions(requirements=Path("r.txt"), workers=2, arguments=["--seed=1"])

    assert options.words == ("--workers", "2", "--requirements", "r.txt", "--", "--seed=1")
