"""The version is written in pyproject.toml. The chart, and files that name our images, repeat it."""

import re
import subprocess
from pathlib import Path

from tests.cluster.images import project_version

__all__ = ["ROOT", "TRAINER_IMAGE", "VERSION", "set_version", "strays"]

ROOT = Path(__file__).parents[2]
VERSION = project_version()
TRAINER_IMAGE = f"localhost/qtj-trainer:{VERSION}"

_REPEATED = re.compile(r"(?m)(?:(?<=qtj-operator:)|(?<=qtj-trainer:)|(?<=^version: )|(?<=^appVersion: ))\d+\.\d+\.\d+")
"""Behind the name of an image, and in the Chart.yaml of Helm, which reads no other file."""
_OTHERS = ("CHANGELOG.md", "requirements/", "tests/cluster/tools/", "tests/release/")
"""Where versions are those of the past, of other projects, or of the tests of this."""


def strays(root: Path = ROOT) -> list[str]:
    """Returns what has another version than pyproject.toml, or repeats the version elsewhere, as FILE:LINE."""
    version = project_version((root / "pyproject.toml").read_text())
    repeated = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])")
    return [
        f"{path}:{number}"
        for path in _files(root)
        for number, line in enumerate((root / path).read_text().splitlines(), start=1)
        if set(_REPEATED.findall(line)) - {version}
        or (path != "pyproject.toml" and repeated.search(_REPEATED.sub("", line)))
    ]


def set_version(new: str, root: Path = ROOT) -> None:
    """Writes a version into pyproject.toml, into the chart, and wherever an image of ours is named."""
    for path in _files(root):
        text = (root / path).read_text()
        changed = _REPEATED.sub(new, text)
        if path == "pyproject.toml":
            changed = re.sub(r'(?m)^version = ".*"$', f'version = "{new}"', changed, count=1)
        if changed != text:
            (root / path).write_text(changed)


def _files(root: Path) -> list[str]:
    """The text files of the checkout that have something to do with our version."""
    listing = subprocess.run(
        ["git", "grep", "-I", "--name-only", "-e", r"[0-9]\.[0-9]"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for path in listing.stdout.splitlines() if not path.startswith(_OTHERS)]
