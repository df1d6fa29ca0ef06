"""Output whose reader may leave: a closed terminal, a pipe without a reader, a full disk.

A job is worth more than the lines about it. So an error of a write is never raised where the line is written: rich also
writes from a thread of its own, where it could not be caught.
"""

import errno
import io
import os
import select
from collections.abc import Callable
from threading import Lock
from typing import BinaryIO, TextIO, cast

from rich.console import Console
from rich.text import Text

from qtj.terminal.text import visible

__all__ = ["print_text", "safe_console", "safe_stream"]

_GONE = {errno.EIO, errno.EPIPE, errno.EBADF, errno.ENXIO}
"""With these, the reader does not come back. A full disk may have room again later."""


def safe_stream(stream: TextIO | None, on_lost: Callable[[OSError], None] = lambda _: None) -> TextIO:
    r"""Returns a stream that writes where another does and never raises.

    What the encoding has no character for is written as an escape, such as ``\u2501``.

    Args:
        stream: Where to write: a stream of this process, or None for one that was closed from the start.
        on_lost: Called with the first error, once, by the thread that was writing: EIO means that the terminal is
            closed, EPIPE that the reader of the pipe has left.
    """
    descriptor, encoding = None, "utf-8"
    if stream is not None:
        stream.flush()
        try:
            descriptor, encoding = stream.fileno(), stream.encoding
        except io.UnsupportedOperation:
            return stream  # it is in memory, which is never closed
    raw = cast("BinaryIO", _Raw(descriptor, on_lost))
    # Unbuffered, as with `python -u`: nothing is left over that could fail at the end of the process.
    return io.TextIOWrapper(raw, encoding, errors="backslashreplace", write_through=True)


def safe_console(stream: TextIO | None, on_lost: Callable[[OSError], None] = lambda _: None) -> Console:
    """Returns a console that never raises and shows text as it is, without markup and emoji codes.

    Args:
        stream: As in `safe_stream`.
        on_lost: As in `safe_stream`.
    """
    file = safe_stream(stream, on_lost)
    # Not for rich to decide: FORCE_COLOR makes it take a file for a terminal, and draw over what it has written there.
    return Console(file=file, force_terminal=file.isatty(), highlight=False, markup=False, emoji=False)


def print_text(console: Console, text: str, style: str = "") -> None:
    """Prints text of programs and files: as it is, but for what a terminal would obey.

    Args:
        console: Where.
        text: What: one line or several.
        style: How it looks.
    """
    console.print(Text(visible(text), style=style), soft_wrap=True)


class _Raw(io.RawIOBase):
    def __init__(self, descriptor: int | None, on_lost: Callable[[OSError], None]) -> None:
        self._descriptor = descriptor
        self._on_lost = on_lost
        # Asked once: a closed terminal is none any more, and rich would print in another style.
        self._is_terminal = descriptor is not None and os.isatty(descriptor)
        self._is_gone = descriptor is None
        self._untold = Lock()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return super().fileno() if self._descriptor is None else self._descriptor

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Writes all of it, or as much as can be."""
        left = memoryview(data)
        try:
            while left and not self._is_gone:
                left = left[self._some(left) :]
        except OSError as problem:
            self._is_gone = problem.errno in _GONE
            if self._untold.acquire(blocking=False):
                self._on_lost(problem)
        return len(data)

    def _some(self, data: memoryview) -> int:
        try:
            return os.write(self.fileno(), data)
        except BlockingIOError:  # another program has made the terminal non-blocking for all
            select.select((), (self,), ())
            return 0
