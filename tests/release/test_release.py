"""`make version` and the checks of a tag, on a copy of what they touch."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from tools.release.version import ROOT, VERSION
from tools.release.wheel import faults

TOUCHED = ("tools", "crds", "examples", "pyproject.toml", "CHANGELOG.md")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in TOUCHED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    return tmp_path


def release(copy: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "tools.release", *words]
    ended = subprocess.run(
        command, cwd=copy, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def add_news(copy: Path) -> None:
    changelog = copy / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- A lamp.\n", 1))


def test_a_release_is_one_command_and_its_tag_is_accepted(copy: Path) -> None:
    add_news(copy)

    prepared = release(copy, "prepare", "99.0.1")

    assert prepared == (0, "this is 99.0.1: read the difference, commit it, and push the tag v99.0.1\n")
    assert release(copy, "check", "--tag", "v99.0.1") == (0, "")
    assert "- A lamp.\n" in release(copy, "notes")[1]
    assert "qtj-trainer:99.0.1" in (copy / "examples/qcnn.yaml").read_text()


def test_the_tag_of_another_version_is_refused(copy: Path) -> None:
    code, said = release(copy, "check", "--tag", "v99.0.1")

    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith(f"the tag v99.0.1 is not v{VERSION}")


def test_a_crd_that_accepts_less_is_no_release(copy: Path) -> None:
    add_news(copy)
    path = copy / "crds/quantumtrainingjobs.quantumtraining.dev.yaml"
    crd = yaml.safe_load(path.read_text())
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("suspend")
    path.write_text(yaml.safe_dump(crd))

    code, said = release(copy, "prepare", "99.0.1")

    assert (code, said.count("\n")) == (1, 1)
    assert said.endswith("breaks what released-crd.yaml allows: v1alpha1.spec.suspend: it is gone\n")
    assert "99.0.1" not in (copy / "pyproject.toml").read_text()


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3"])
def test_what_is_no_version_is_refused(copy: Path, version: str) -> None:
    code, said = release(copy, "prepare", version)

    assert (code, said.count("\n")) == (1, 1)
    assert "write three numbers" in said


def wheel(folder: Path, name: str, *members: str) -> Path:
    with ZipFile(folder / name, "w") as archive:
        for member in members:
            archive.writestr(member, "")
    return folder / name


def test_a_trainers_wheel_with_its_libraries_and_a_manylinux_tag_may_be_published(tmp_path: Path) -> None:
    name = f"quantumtrainingjob_trainer-{VERSION}-py3-none-manylinux_2_34_aarch64.whl"

    assert (
        faults(
            wheel(
                tmp_path,
                name,
                "qtj_trainer/b/libqtj_tracer.so",
                "qtj_trainer/b/libqtj_loopback.so",
            )
        )
        == []
    )


def test_a_trainers_wheel_that_was_built_without_a_compiler_is_refused(tmp_path: Path) -> None:
    name = "quantumtrainingjob_trainer-0.0.1-py3-none-any.whl"

    assert faults(wheel(tmp_path, name, "qtj_trainer/libqtj_tracer.so")) == [
        "it has no libqtj_loopback.so",
        f"it is not of version {VERSION}",
        "its name has no manylinux tag, so package indexes refuse it",
    ]


def test_an_operators_wheel_with_another_package_or_a_library_is_refused(tmp_path: Path) -> None:
    name = f"quantumtrainingjob_operator-{VERSION}-py3-none-linux_x86_64.whl"

    assert faults(wheel(tmp_path, name, "qtj_operator/x.py", "qtj/x.py", "qtj_operator/libqtj_fused.so")) == [
        "it has qtj/x.py, which is of another package",
        "it has libqtj_fused.so, which is none of its libraries",
        "it is not for every platform, although it is pure Python",
    ]
