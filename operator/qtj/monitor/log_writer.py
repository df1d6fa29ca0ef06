"""The lines of several logs: each with the name of its log, in a colour on a terminal; and which logs are meant."""

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import TextIO

import yaml
from rich.console import Console
from rich.text import Text

from qtj.terminal.output_format import OutputFormat
from qtj.terminal.text import log_on_terminal

__all__ = ["LogWriter", "log_filter"]

_COLORS = ("cyan", "green", "magenta", "blue", "yellow", "bright_cyan", "bright_green", "bright_magenta")


def log_filter(job: str, replica: str | None) -> Callable[[str], bool]:
    """Returns the filter for the name of a log: by the pod's name, with or without the job's, and its attempt."""
    if replica is None:
        return lambda _: True
    names = (replica, f"{job}-{replica}")
    return lambda log: any(log == name or log.startswith((f"{name}.", f"{name}-")) for name in names)


class LogWriter:
    """Writes lines, and raises BrokenPipeError when nobody reads them any more.

    Args:
        named: Whether each line begins with the name of its log.
        form: The form for programs: a JSON object on each line, or a YAML document for each; None for text.
        out: Where they are written; None for stdout.
    """

    def __init__(self, *, named: bool, form: OutputFormat | None = None, out: TextIO | None = None) -> None:
        self._named = named
        self._form = form
        self._out = out or sys.stdout
        self._shown = log_on_terminal if self._out.isatty() else bytes
        # It knows what the terminal can do, and NO_COLOR; FORCE_COLOR would make it take a file for a terminal.
        self._console = Console(force_terminal=self._out.isatty())
        self._colors: dict[str, str] = {}
        self._prefix = cache(self._drawn)

    def write(self, log: str, line: bytes, time: str | None = None) -> None:
        """Writes a line of a log.

        Args:
            log: The name of the log.
            line: The line, with its line break.
            time: When it was written, if that is known.
        """
        if self._form is None:
            self._out.buffer.write((self._prefix(log) if self._named else b"") + self._shown(line))
        else:
            self._out.write(self._document(log, line, time))

    def flush(self) -> None:
        """Writes what is left."""
        self._out.flush()

    def _document(self, log: str, line: bytes, time: str | None) -> str:
        pod, _, attempt = log.rpartition(".")
        is_replica = attempt.isdecimal()
        found = {"pod": pod if is_replica else log, **({"attempt": int(attempt)} if is_replica else {})}
        found |= {**({"time": time} if time else {}), "line": line.decode(errors="replace").rstrip("\n")}
        if self._form == OutputFormat.YAML:
            return f"---\n{yaml.safe_dump(found, sort_keys=False, width=float('inf'))}"
        return f"{json.dumps(found)}\n"

    def _drawn(self, log: str) -> bytes:
        """Returns the name of a log before a line; a replica keeps its colour in the next attempt."""
        replica = log.rpartition(".")[0] or log
        color = self._colors.setdefault(replica, _COLORS[len(self._colors) % len(_COLORS)])
        with self._console.capture() as captured:
            self._console.print(Text(f"{log}  ", color), end="", soft_wrap=True)
        return captured.get().encode()
