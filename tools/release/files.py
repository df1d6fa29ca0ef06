"""Builds the files of a release: `make release`. The same commit gives the same bytes."""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.release import changelog
from tools.release.archive import CHART, chart_archive
from tools.release.krew import ARCHIVE, manifest, plugin_archive
from tools.release.version import ROOT, VERSION

_COMPILED = ("trainer/qtj_simulator", "trainer/qtj_trainer")
FOLDERS = ("operator/qtj_contract", "operator/qtj_operator", "operator/qtj_report", *_COMPILED, ".")
MACHINES: Mapping[str, str] = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
"""The processors that the wheels with native code are built for, and the compiler for each on another machine."""
SUMS = "SHA256SUMS"
SBOMS = {
    "operator": "operator/qtj_operator",
    "trainer": "trainer/qtj_trainer",
    "tensorboard": None,
}
"""What has one, by the name of its requirements: the folder of the distribution that they are installed for, if any."""


def commit_time(root: Path = ROOT) -> int:
    """Returns when the commit was made that is checked out, in seconds since 1970: SOURCE_DATE_EPOCH of a release."""
    asked = ("git", "log", "-1", "--format=%ct")
    return int(subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True).stdout)


def build_files(folder: Path, tools: Path, repository: str) -> None:
    """Writes wheels, source archive, chart, plugin, bills of materials, notes and checksums into an empty folder.

    Args:
        folder: The folder; images that are in it have a checksum too.
        tools: The folder of the programs of requirements/release.txt.
        repository: The address of the repository that publishes the release.

    Raises:
        ChangelogError: The changelog has no section of this version.
        subprocess.CalledProcessError: Something cannot be built.
        FileNotFoundError: There is no compiler for one of the processors.
    """
    time = commit_time()
    notes = changelog.section((ROOT / "CHANGELOG.md").read_text(), VERSION)
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as draft:
        root = _exported(Path(draft))
        build_distributions(folder, tools, time, root)
        plugin = plugin_archive(folder.glob("*.whl"), time, root)
        (folder / CHART).write_bytes(chart_archive(time, root))
        (folder / ARCHIVE).write_bytes(plugin)
        (folder / "qtj.yaml").write_text(manifest(plugin, repository, root))
        write_sboms(folder, tools, time, root)
    write_sums(folder)
    (folder / "notes.md").write_text(notes)  # the text of the release, and not one of its files


def _exported(folder: Path) -> Path:
    """Unpacks the commit: a release has no file that is not in it, and leaves no library in the checkout."""
    archive = subprocess.run(("git", "archive", "HEAD"), cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as members:
        members.extractall(folder, filter="data")
    return folder


def build_distributions(folder: Path, tools: Path, time: int, root: Path = ROOT) -> None:
    """Builds the wheels of all distributions, those with native code for each processor, and one source archive.

    Args:
        folder: Where to put them.
        tools: The folder of the programs of requirements/release.txt.
        time: The time in them, in seconds since 1970.
        root: The checkout.

    Raises:
        subprocess.CalledProcessError: One of them cannot be built.
        FileNotFoundError: There is no compiler for one of the processors.
    """
    common = {**os.environ, "SOURCE_DATE_EPOCH": str(time), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    build = (tools / "python", "-m", "hatchling", "build", "-d", folder, "-t")
    for source in FOLDERS:
        for environment in map(_cross, MACHINES) if source in _COMPILED else ({},):
            subprocess.run([*build, "wheel"], cwd=root / source, env={**common, **environment}, check=True)
    subprocess.run([*build, "sdist"], cwd=root, env=common, check=True)
    for wheel in folder.glob("*-linux_*.whl"):
        subprocess.run([tools / "auditwheel", "repair", "-w", folder, wheel], env=common, check=True)
        wheel.unlink()


def _cross(machine: str) -> Mapping[str, str]:
    """Returns the variables with which Python's tools build for another processor."""
    if machine == platform.machine():
        return {}
    compiler = shutil.which(MACHINES[machine])
    if compiler is None:
        raise FileNotFoundError(f"{MACHINES[machine]} is not installed: apt-get install gcc-{machine}-linux-gnu")
    return {"CC": compiler, "_PYTHON_HOST_PLATFORM": f"linux-{machine}"}


def write_sboms(folder: Path, tools: Path, time: int, root: Path = ROOT) -> None:
    """Writes sbom-NAME.json for each image: its Python packages with their hashes, validated against the schema.

    Args:
        folder: Where to write them.
        tools: The folder of the programs of requirements/release.txt.
        time: The time in them, in seconds since 1970.
        root: The checkout.

    Raises:
        subprocess.CalledProcessError: One of them is not valid.
    """
    for name, source in SBOMS.items():
        options = ("--output-reproducible", "--validate", "--spec-version=1.6", "--output-format=JSON")
        pinned = root / "requirements" / f"{name}.txt"
        project = (f"--pyproject={root / source / 'pyproject.toml'}",) if source else ()
        subprocess.run(
            [tools / "cyclonedx-py", "requirements", *options, *project,
             f"--output-file={folder / f'sbom-{name}.json'}", pinned],
            # It warns that a requirements file does not tell which package asks for which.
            env={**os.environ, "SOURCE_DATE_EPOCH": str(time), "PYTHONWARNINGS": "ignore::UserWarning"},
            check=True,
        )  # fmt: skip


def write_sums(folder: Path) -> None:
    """Writes the checksums of all files of a folder, and of the folders in it, into the file SHA256SUMS."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in paths]
    (folder / SUMS).write_text("".join(lines))


def main() -> None:
    """Builds the files that `make release` asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.files", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--tools", type=Path, required=True, help="the folder of the programs of requirements/release.txt"
    )
    parser.add_argument("--repository", required=True, help="the address of the repository that publishes the release")
    options = parser.parse_args()
    try:
        build_files(options.folder.absolute(), options.tools.absolute(), options.repository)
    except (changelog.ChangelogError, FileNotFoundError, subprocess.CalledProcessError) as problem:
        sys.exit(f"the release cannot be built: {problem}")


if __name__ == "__main__":
    main()
