"""The version is written in pyproject.toml. The other distributions, the chart, and what names our images follow it."""

import re
import subprocess
from pathlib import Path

from tools.cluster.images import project_version

ROOT = Path(__file__).parents[2]
VERSION = project_version()
TRAINER_IMAGE = f"localhost/qtj-trainer:{VERSION}"

_OURS = re.compile(
    r"(qtj-(?:operator|tensorboard|trainer):|quantumtrainingjob-\w+(?:\[\w+])?==|^version: |^appVersion: )"
    r"(\d+\.\d+\.\d+)",
    re.MULTILINE,
)
"""Our version behind the name of an image or of a distribution, and in the Chart.yaml of Helm."""
_DECLARED = re.compile(r'^(version = )"(\d+\.\d+\.\d+)"$', re.MULTILINE)
"""The version of a distribution, in its pyproject.toml."""
_OTHERS = ("CHANGELOG.md", "requirements/", "tools/cluster/tools/", "tools/release/", "tests/release/")
"""Where versions are those of the past, of other projects, or of the tests of this."""


def strays(root: Path = ROOT) -> list[str]:
    """Returns what names an image or a distribution with another version, or repeats the version, as FILE:LINE."""
    version = project_version((root / "pyproject.toml").read_text())
    return [
        f"{path}:{number}"
        for path in _files(root)
        for number, line in enumerate((root / path).read_text().splitlines(), start=1)
        if _strays(line, version, declares=_is_project(path))
    ]


def set_version(new: str, root: Path = ROOT) -> None:
    """Writes a version into our distributions and wherever one of them or an image of ours is named."""
    for path in _files(root):
        text = (root / path).read_text()
        changed = _OURS.sub(rf"\g<1>{new}", text)
        if _is_project(path):
            changed = _DECLARED.sub(rf'\1"{new}"', changed, count=1)
        if changed != text:
            (root / path).write_text(changed)


def _strays(line: str, version: str, *, declares: bool) -> bool:
    """Whether a line has another version of ours, or has ours where it does not belong."""
    if declares and (declared := _DECLARED.match(line)):
        return declared[2] != version
    repeated = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])")
    return any(found[2] != version for found in _OURS.finditer(line)) or bool(repeated.search(_OURS.sub("", line)))


def _is_project(path: str) -> bool:
    return Path(path).name == "pyproject.toml"


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
