"""A terminal: a pseudo-terminal, and the screen that what is written there leaves."""

import fcntl
import os
import re
import struct
import subprocess
import termios
from contextlib import suppress
from threading import Thread

from tests.local.laptop import QTJ, Laptop

__all__ = ["Screen", "Terminal", "start_on"]

_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+|\x1b)")


class Screen:
    """As much of a terminal as a live display uses; a line that is too long continues in the next one."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines = [""]
        self._row = self._column = 0
        self.unknown: set[str] = set()

    def feed(self, text: str) -> None:
        for numbers, command, move, plain in _PIECE.findall(text):
            if command:
                self._obey(command, int(numbers) if numbers.isdigit() else 0)
            elif move == "\r":
                self._column = 0
            elif move:
                self._down()
            else:
                for character in plain:
                    self._put(character)

    def _obey(self, command: str, number: int) -> None:
        if command == "A":
            self._row = max(0, self._row - max(1, number))
        elif command == "K":
            self.lines[self._row] = ""
        elif command not in "mhl":  # colours, and the cursor that hides
            self.unknown.add(command)

    def _put(self, character: str) -> None:
        if self._column == self.columns:
            self._down()
        line = self.lines[self._row].ljust(self._column)
        self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _down(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self.lines):
            self.lines.append("")


class Terminal:
    """A pseudo-terminal that somebody looks at until it is closed.

    Attributes:
        slave: Where a program writes.
        written: What was written so far, as bytes.
    """

    def __init__(self, columns: int = 80) -> None:
        self._master, self.slave = os.openpty()
        self.columns = columns
        self.resize(columns)
        self.written = b""
        self._reader = Thread(target=self._read)
        self._reader.start()

    def resize(self, columns: int) -> None:
        """Gives it another width."""
        self.columns = columns
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))

    def screen(self) -> Screen:
        """Returns what is on the screen, as wide as it is now."""
        screen = Screen(self.columns)
        screen.feed(self.written.decode())
        return screen

    def end(self) -> None:
        """Waits for the end of what was written, once the programs have ended."""
        os.close(self.slave)
        self._reader.join()

    def _read(self) -> None:
        with suppress(OSError):  # the last writer is gone
            while data := os.read(self._master, 1 << 16):
                self.written += data
        os.close(self._master)


def start_on(terminal: Terminal, laptop: Laptop, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    """Starts `qtj` on the terminal, with colours and in the width that it has."""
    inherited = {name: value for name, value in laptop.environment().items() if name not in {"COLUMNS", "NO_COLOR"}}
    return subprocess.Popen(
        [*QTJ, *arguments],
        cwd=laptop.folder,
        env={**inherited, "TERM": "xterm-256color", **environment},
        stdin=terminal.slave,
        stdout=terminal.slave,
        stderr=terminal.slave,
        start_new_session=True,
    )
