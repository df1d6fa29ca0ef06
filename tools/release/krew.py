"""The plugin for krew: an archive with our wheels and a script that runs them, and the manifest that names it."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from tools.release.archive import tar_gz
from tools.release.version import ROOT, VERSION

ARCHIVE = "kubectl-qtj.tar.gz"


def plugin_archive(wheels: Iterable[Path], time: int, root: Path = ROOT) -> bytes:
    """Returns the archive: the script, the license, the wheels of the command, and a file of hashes.

    None of the wheels has machine code.

    Args:
        wheels: All wheels of the release.
        time: When the files were changed, in seconds since 1970.
        root: The checkout.
    """
    pure = {path.name: (path.read_bytes(), 0o644) for path in sorted(wheels) if path.name.endswith("-none-any.whl")}
    hashes = {"requirements.txt": (_requirements(pure, root).encode(), 0o644)}
    script = {"kubectl-qtj": ((root / "deploy/krew/kubectl-qtj").read_bytes(), 0o755)}
    return tar_gz(pure | hashes | script | {"LICENSE": ((root / "LICENSE").read_bytes(), 0o644)}, time)


def manifest(archive: bytes, repository: str, root: Path = ROOT) -> str:
    """Returns the manifest of an archive.

    Args:
        archive: The archive.
        repository: The address of the repository whose releases have it.
        root: The checkout.
    """
    filled = {"VERSION": VERSION, "REPOSITORY": repository, "SHA256": hashlib.sha256(archive).hexdigest()}
    return Template((root / "deploy/krew/qtj.yaml").read_text().partition("\n")[2]).substitute(filled)


def _requirements(wheels: Mapping[str, tuple[bytes, int]], root: Path) -> str:
    """Returns what the script installs: our wheels as files and all other packages, each with its hashes."""
    ours = (f"./{name} --hash=sha256:{hashlib.sha256(data).hexdigest()}\n" for name, (data, _) in wheels.items())
    return "".join(ours) + (root / "requirements/command.txt").read_text()
