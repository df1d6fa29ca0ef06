"""`make release`: what it builds from a commit, and that it builds the same bytes again."""

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.release.archive import tar_gz
from tools.release.files import SBOMS, write_sums
from tools.release.version import ROOT, VERSION
from tools.release.wheel import LIBRARIES, faults

PURE = ("", "_contract", "_operator", "_report")
"""The distributions without compiled code, by the end of their names."""


def sums(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Checks the checksums with the program that a user has."""
    command = ("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_release_has_all_of_its_files_and_a_checksum_of_each(dist: Path) -> None:
    compiled = [f"{name}-{VERSION}-py3-none-{each}.whl" for name in LIBRARIES for each in ("aarch64", "x86_64")]
    names = sorted(re.sub(r"manylinux_2_\d+_", "", path.name) for path in dist.iterdir())

    assert names == sorted(
        [
            *(f"quantumtrainingjob{part}-{VERSION}-py3-none-any.whl" for part in PURE),
            *compiled,
            f"quantumtrainingjob-{VERSION}.tar.gz",
            f"qtj-operator-{VERSION}.tgz",
            *("kubectl-qtj.tar.gz", "qtj.yaml", *(f"sbom-{name}.json" for name in SBOMS), "notes.md", "SHA256SUMS"),
        ]
    )
    assert (sums(dist).returncode, sums(dist).stderr) == (0, "")
    assert (dist / "SHA256SUMS").read_text().count("\n") == len(names) - 2  # neither itself nor the notes


@pytest.mark.slow
def test_the_same_commit_gives_the_same_bytes(dist: Path, build: Callable[[], Path]) -> None:
    again = build()

    different = [path.name for path in dist.iterdir() if path.read_bytes() != (again / path.name).read_bytes()]

    assert different == []
    assert {path.name for path in again.iterdir()} == {path.name for path in dist.iterdir()}


@pytest.mark.slow
def test_every_wheel_of_a_release_may_be_published(dist: Path) -> None:
    assert [fault for wheel in dist.glob("*.whl") for fault in faults(wheel)] == []


@pytest.mark.slow
def test_the_libraries_of_the_arm64_wheels_are_for_arm64(dist: Path, tmp_path: Path) -> None:
    for wheel in dist.glob("*_aarch64.whl"):
        shutil.unpack_archive(wheel, tmp_path, "zip")

    machines = {path.name: path.read_bytes()[18:20] for path in tmp_path.rglob("*.so")}

    arm64 = (183).to_bytes(2, "little")  # EM_AARCH64 of the ELF header
    names = ("libqtj_fused.so", "libqtj_loopback.so", "libqtj_op.so", "libqtj_tracer.so", "libqtj_xla.so")
    assert machines == dict.fromkeys(names, arm64)


@pytest.mark.slow
def test_the_source_archive_builds_the_wheels_of_the_release(dist: Path, tools: Path, tmp_path: Path) -> None:
    with tarfile.open(dist / f"quantumtrainingjob-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    root = tmp_path / f"quantumtrainingjob-{VERSION}"

    for folder in ("operator/qtj_contract", "operator/qtj_operator", "operator/qtj_report", "."):
        command = (tools / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
        subprocess.run(command, cwd=root / folder, check=True, capture_output=True)

    assert {path.name for path in tmp_path.glob("*.whl")} == {path.name for path in dist.glob("*-any.whl")}
    assert (root / "trainer/hatch_build.py").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", SBOMS)
def test_a_bill_of_materials_has_every_pinned_package_with_its_hashes(dist: Path, name: str) -> None:
    bill = json.loads((dist / f"sbom-{name}.json").read_text())
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / f"requirements/{name}.txt").read_text(), re.MULTILINE)

    found = {(each["name"].lower(), each["version"]) for each in bill["components"]}

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert found == {(each.lower(), version) for each, version in pinned}
    if SBOMS[name]:
        assert bill["metadata"]["component"]["name"] == f"quantumtrainingjob-{name}"
    assert all(re.search(r"sha-?256", json.dumps(each), re.IGNORECASE) for each in bill["components"])


VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(problem and str(problem.data))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", SBOMS)
def test_a_bill_of_materials_fits_the_schema_of_cyclonedx(dist: Path, tools: Path, name: str) -> None:
    text = (dist / f"sbom-{name}.json").read_text()

    def code(bill: str) -> int:
        return subprocess.run([tools / "python", "-c", VALIDATE], input=bill, text=True, check=False).returncode

    assert code(text) == 0
    assert code(text.replace('"bomFormat": "CycloneDX"', '"bomFormat": "SPDX"')) == 1


def test_a_changed_file_does_not_fit_its_checksum(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/index.json").write_text("{}")
    write_sums(tmp_path)
    assert sums(tmp_path).returncode == 0

    (tmp_path / "images/index.json").write_text("{ }")

    assert sums(tmp_path).returncode == 1


def test_an_archive_does_not_depend_on_the_order_of_its_files() -> None:
    files = {"b": (b"2", 0o755), "a": (b"1", 0o644)}

    assert tar_gz(files, 7) == tar_gz(dict(reversed(files.items())), 7)
    assert tar_gz(files, 7) != tar_gz(files, 8)
