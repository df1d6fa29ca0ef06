"""How files are written into a folder that somebody else may have made: whole or not at all, and never through a link.

A folder that was cloned or unpacked can hold a symbolic link in place of a file that is written there later, or in
place of one that is read a link to a device that never ends.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["growing", "read_regular", "regular", "write_whole"]


def write_whole(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Writes a file beside the target and renames it; a link at the target is replaced, and what it names stays.

    Args:
        path: The target.
        data: Its contents.
        durable: Whether they survive a power failure from now on, which takes as long as the disk.

    Raises:
        OSError: It cannot be written. Nothing is left, and an earlier file is as it was.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    unfinished = path.parent / f".{path.name}.{os.urandom(4).hex()}"
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        _remove(unfinished)
        raise


def growing(path: Path) -> BinaryIO:
    """Opens a file for reading and appending; makes it where there is none.

    Raises:
        OSError: It cannot be opened, or is a link.
    """
    return open(path, "ab+", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))


def regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading.

    Raises:
        OSError: It cannot be opened, or is something else, such as a device or a FIFO, which may never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        is_folder = stat.S_ISDIR(mode)
        why = "Is a directory" if is_folder else "it is no regular file"
        raise OSError(errno.EISDIR if is_folder else errno.EINVAL, why, str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path) -> bytes:
    """Returns the content of a regular file.

    Raises:
        OSError: See `regular`.
    """
    with regular(path) as file:
        return file.read()


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:  # it was never made
        return
