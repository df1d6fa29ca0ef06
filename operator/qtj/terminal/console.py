"""Output that may fail at any time: a closed terminal, a pipe without a reader, a full disk.

A job must not fail because a line about it cannot be written. So a write never raises an error: rich also
writes from its own thread, where an error could not be caught.
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
"""Errors after which the reader is gone for good. A full disk, in contrast, may have space again later."""


def safe_stream(stream: TextIO | None, on_lost: Callable[[OSError], None] = lambda _: None) -> TextIO:
    r"""Returns a stream that writes to the same place as another stream, but never raises an error.

    A character that the encoding does not have is written as an escape, such as ``\u2501``.

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
    # Unbuffered, as with `python -u`: no text is left that could fail at the end of the process.
    return io.TextIOWrapper(raw, encoding, errors="backslashreplace", write_through=True)


def safe_console(stream: TextIO | None, on_lost: Callable[[OSError], None] = lambda _: None) -> Console:
    """Returns a console that never raises and shows text as it is, without markup and emoji codes.

    Args:
        stream: As in `safe_stream`.
        on_lost: As in `safe_stream`.
    """
    file = safe_stream(stream, on_lost)
    # rich must not decide this: with FORCE_COLOR, it would treat a file as a terminal, and redraw lines in it.
    return Console(file=file, force_terminal=file.isatty(), highlight=False, markup=False, emoji=False)


def print_text(console: Console, text: str, style: str = "") -> None:
    """Prints text of programs and files unchanged, except for control characters.

    Args:
        console: Where to print.
        text: One line or several.
        style: How it looks.
    """
    console.print(Text(visible(text), style=style), soft_wrap=True)


class _Raw(io.RawIOBase):
    def __init__(self, descriptor: int | None, on_lost: Callable[[OSError], None]) -> None:
        self._descriptor = descriptor
        self._on_lost = on_lost
        # Checked only once: a closed terminal no longer counts as one, and rich would print in another style.
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
