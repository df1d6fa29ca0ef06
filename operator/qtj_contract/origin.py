"""Where the numbers of a program come from, besides its text: the commit, versions, the machine and the image.

It is stored beside the text of the program, as `origin.json`. What is not known is empty.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Self

from qtj_contract.values import decoded

__all__ = ["Origin", "commit_of", "machine"]

_SECONDS = 10.0
"""How long git may take, for example in a large tree on a slow disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a program ran from, as its last process has recorded it.

    Attributes:
        job_uid: `QTJ_JOB_UID` of its job; empty without one, and where the command has recorded it before the start.
        commit: The git commit of its folder, with a note where the files are others.
        machine: Processor, number of them, and system.
        image: The container image, as the job names it.
        changed: What a restart has changed in the program within its training; empty if it is the same throughout.
        versions: Versions of Python and of the packages that it has imported, by name.
    """

    job_uid: str = ""
    commit: str = ""
    machine: str = ""
    image: str = ""
    changed: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Reads what `to_bytes` returned; a field of another type is left out.

        Raises:
            ValueError: It is something else.
        """
        raw = decoded(data)
        if not isinstance(raw, dict):
            raise ValueError("not an object")
        texts = {each.name: raw[each.name] for each in fields(cls) if isinstance(raw.get(each.name), str)}
        versions = raw.get("versions")
        known = versions if isinstance(versions, dict) else {}
        return cls(**texts | {"versions": {name: str(value) for name, value in known.items()}})

    def to_bytes(self) -> bytes:
        """Encodes it as JSON."""
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode()

    def facts(self) -> Mapping[str, str]:
        """Returns what is known about commit, machine and image, and what a restart has changed, by name."""
        known = {
            "git commit": self.commit,
            "machine": self.machine,
            "image": self.image,
            "changed by a restart": self.changed,
        }
        return {name: value for name, value in known.items() if value}


def commit_of(folder: Path, files: Sequence[str] = ()) -> str:
    """Returns the git commit of a folder, with a note if the tree is not clean.

    Files that git does not track count only if they are of the program: results are often stored beside it.

    Args:
        folder: A folder.
        files: Files of the program, relative to it.

    Returns:
        For example ``3f2a91c0... with changes in 2 files``. Empty without a repository, or without git.
    """
    status = _git(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    commit = next((line.split()[-1] for line in status if line.startswith("# branch.oid ")), "")
    if not commit or commit.startswith("("):  # "(initial)": there is no commit yet
        return ""
    changed = sum(not line.startswith("#") for line in status)
    untracked = len(_git(folder, "ls-files", "--others", "--", *files)) if files else 0
    return " ".join([commit, *_notes(changed, untracked)])


def machine() -> str:
    """Returns what this machine is; the last digits of a result depend on its processor."""
    count = os.cpu_count()
    return f"{_processor()}, {count} {'CPU' if count == 1 else 'CPUs'}, {platform.system()} {platform.release()}"


def _notes(changed: int, untracked: int) -> Iterator[str]:
    if changed:
        yield f"with changes in {changed} {'file' if changed == 1 else 'files'}"
    if untracked:
        yield f"{'and' if changed else 'with'} {untracked} {'file' if untracked == 1 else 'files'} not in git"


def _git(folder: Path, *words: str) -> Sequence[str]:
    """Returns the lines that git prints; nothing if it fails. It writes nothing, not even its index.

    The repository may be unpacked, with a configuration that names a program to watch its files: none is started.
    """
    try:
        command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return done.stdout.decode(errors="replace").splitlines()


def _processor() -> str:
    """Returns the name of the processor. On Linux, Python knows only its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return name or platform.processor() or platform.machine()
