"""Files of an earlier commit, for tests that step back to it."""

import subprocess
from pathlib import Path

from tools.release.version import ROOT


class NoSuchCommitError(Exception):
    """This clone does not have the commit."""


def unpack(commit: str, folder: Path, *paths: str) -> None:
    """Writes files and folders of a commit into a folder.

    Raises:
        NoSuchCommitError: The clone is shallow.
    """
    archive = subprocess.run(("git", "archive", commit, *paths), cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        raise NoSuchCommitError(
            f"this clone has no commit {commit}, which is to be stepped back to: git fetch --unshallow"
        )
    subprocess.run(("tar", "-x", "-C", folder), input=archive.stdout, check=True)
