"""A Git repository on this machine, as a GitOps tool reads it."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_ROLES = ("AUTHOR", "COMMITTER")
_WHO = {f"GIT_{role}_{what}": "jane@example.com" for role in _ROLES for what in ("NAME", "EMAIL")}


class Repository:
    """One repository with the branch `main`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        self._git("init", "-q", "-b", "main")

    @property
    def url(self) -> str:
        """Where it is fetched from."""
        return self._folder.as_uri()

    def commit(self, files: Mapping[str, str | None]) -> str:
        """Writes files, or removes those without text, and commits them all; returns the digest of the commit."""
        for name, text in files.items():
            path = self._folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "edit")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        environment = {"PATH": os.environ["PATH"], **_WHO}
        return subprocess.run(
            ["git", *words], cwd=self._folder, check=True, env=environment, stdout=subprocess.PIPE, text=True
        ).stdout
