"""The key of this user for digests of secrets: who has the folder of a run cannot try values without it."""

import hashlib
import hmac
import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["keyed_digest"]

_BYTES = 32
_LENGTH = 16


def keyed_digest(value: object) -> str:
    """Returns a digest of what JSON can express, which is the same in each process of this user.

    Where the key cannot be stored, it is another one in each process: what is compared with it then counts as changed.
    """
    text = json.dumps(value, sort_keys=True).encode()
    return hmac.new(_key(_place()), text, hashlib.sha256).hexdigest()[:_LENGTH]


def _place() -> Path | None:
    """Returns the file of the key (XDG Base Directory Specification: state of a user); None without a home."""
    with suppress(RuntimeError):
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "qtj" / "key"
    return None


@cache
def _key(path: Path | None) -> bytes:
    new = os.urandom(_BYTES)
    if path is None:
        return new
    try:
        _make(path, new)
        key = path.read_bytes()
    except OSError:
        return new
    return key if len(key) == _BYTES else new


def _make(path: Path, key: bytes) -> None:
    """Makes the file, whole, unless it exists: of several processes, one wins.

    Raises:
        OSError: It cannot be made.
    """
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileExistsError):
        with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(key)
        os.link(unfinished, path)
    unfinished.unlink(missing_ok=True)
