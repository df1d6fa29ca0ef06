"""A folder as a store."""

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from qtj_contract.whole_file import write_whole
from qtj_trainer.errors import UserError
from qtj_trainer.storage.store import MissingObjectError

__all__ = ["FileStore"]

_FOLDERS = 10
"""How often a folder is made for one file."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class FileStore:
    """Objects are files below one folder, which is created when the first object is written."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def uri(self, name: str) -> str:
        """See `Store.uri`."""
        return self._path(name).as_uri()

    def check_writable(self) -> None:
        """See `Store.check_writable`."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._root):
                pass
        except OSError as problem:
            raise self._refused(problem) from problem

    def read(self, name: str) -> bytes:
        """See `Store.read`."""
        try:
            return self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as problem:
            raise MissingObjectError(self.uri(name)) from problem
        except OSError as problem:
            raise self._unreadable(name, problem) from problem

    def write(self, name: str, data: bytes) -> None:
        """See `Store.write`."""
        try:
            _write(self._path(name), data)
        except OSError as problem:
            raise self._refused(problem) from problem

    def list(self, folder: str) -> Sequence[str]:
        """See `Store.list`."""
        return [f"{folder}/{path.name}" for path in self._paths(folder)]

    def versions(self, folder: str) -> Mapping[str, str]:
        """See `Store.versions`. A write makes another file, and the number of the one before may be used again."""
        found = {}
        for name in self.list(folder):
            with suppress(OSError):  # it was deleted since then
                status = self._path(name).stat()
                found[name] = f"{status.st_ino}-{status.st_mtime_ns}"
        return found

    def sizes(self, folder: str) -> Mapping[str, int]:
        """See `Store.sizes`. What cannot be read has none."""
        found = {}
        for name in self.list(folder):
            with suppress(OSError):
                found[name] = self._path(name).stat().st_size
        return found

    def folders(self, folder: str) -> Sequence[str]:
        """See `Store.folders`."""
        return [f"{folder}/{path.name}" for path in self._paths(folder) if path.is_dir()]

    def delete(self, name: str) -> None:
        """See `Store.delete`. A folder is deleted with its last object."""
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            raise UserError(f"cannot delete {self.uri(name)} ({problem.strerror}): check its permissions") from problem
        with suppress(OSError):
            path.parent.rmdir()

    def close(self) -> None:
        """See `Store.close`."""

    def _path(self, name: str) -> Path:
        return self._root / name

    def _paths(self, folder: str) -> Sequence[Path]:
        """Returns what is directly in a folder, in order; nothing if there is no such folder."""
        try:
            return sorted(self._path(folder).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as problem:
            raise self._unreadable(folder, problem) from problem

    def _unreadable(self, name: str, problem: OSError) -> UserError:
        return UserError(f"cannot read {self.uri(name)} ({problem.strerror}): check its permissions")

    def _refused(self, problem: OSError) -> UserError:
        if problem.errno in _NO_ROOM:
            return UserError(
                f"there is no room for artifacts in {self._root} ({problem.strerror}): free some or choose another"
                " folder; objects that were stored before are intact"
            )
        return UserError(
            f"cannot write artifacts to {self._root} ({problem.strerror}): choose a folder this process may write to"
        )


def _write(path: Path, data: bytes) -> None:
    """Writes a file, and makes its folder. A peer may delete the folder while it is empty: then it is made again."""
    for _ in range(_FOLDERS):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return write_whole(path, data, durable=True)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
