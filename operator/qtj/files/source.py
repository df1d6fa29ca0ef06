"""The text of a file, of a pipe, or of stdin, up to the size that an API server accepts."""

import sys
from pathlib import Path
from typing import BinaryIO

from qtj.terminal.errors import InputError

__all__ = ["STDIN", "display_name", "read_text"]

STDIN = "-"
"""The file name that means stdin."""

_MOST_BYTES = 3 * 1024 * 1024
"""The most that an API server reads of one request: `MaxRequestBodyBytes` of apiserver's `NewConfig`."""


def display_name(path: Path) -> str:
    """Returns the name of a file in messages."""
    return "<stdin>" if str(path) == STDIN else str(path)


def read_text(path: Path) -> str:
    """Returns the text of a file.

    Raises:
        InputError: It cannot be read, is too large, or is not text.
    """
    name = display_name(path)
    if str(path) == STDIN and sys.stdin is None:
        raise InputError(f"{name}: it is closed: name a file")
    try:
        if str(path) == STDIN:
            raw = _read(sys.stdin.buffer)
        else:
            with path.open("rb") as file:
                raw = _read(file)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: this is a folder: name the file in it") from None
    except OSError as problem:
        raise InputError(f"{name}: it cannot be read ({problem.strerror})") from None
    except ValueError:  # a NUL in the name
        raise InputError(f"{name!r}: no file can have this name") from None
    if len(raw) > _MOST_BYTES:
        raise InputError(
            f"{name}: this has more than {_MOST_BYTES // 1024**2} MiB, which no API server takes: shorten it"
        )
    return _decoded(name, raw)


def _read(file: BinaryIO) -> bytes:
    """Reads to the end, or one byte more than is allowed: /dev/zero has no end."""
    return file.read(_MOST_BYTES + 1)


def _decoded(name: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{name}:{line}: this is not text in UTF-8: save the file as UTF-8") from None
