"""Text of programs and files, made safe for a terminal.

A program's message, a path or a log can have anything: escape sequences that rename the window, characters that go back
and overwrite the line, marks that reverse the direction of reading. None of it may control the terminal.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from qtj_contract.printable import printable, visible

__all__ = ["columns", "log_on_terminal", "name_list", "shell_word", "truncate", "visible"]

_FEW = 4

_KEPT = re.compile(r"(\x1b\[[0-9;:]*m|[\t\r])")
"""Colours (SGR of ECMA-48, section 8.3.117), tab and carriage return."""


def log_on_terminal(data: bytes) -> bytes:
    """Returns a piece of a log for a terminal: with its colours, but without other control sequences.

    Args:
        data: Whole lines; bytes that are not UTF-8 become replacement characters.
    """
    parts = _KEPT.split(data.decode(errors="replace"))
    return "".join(part if _KEPT.fullmatch(part) else printable(part) for part in parts).encode()


def shell_word(word: str) -> str:
    """Returns a word of a command that can be shown and copied into a shell, even if it has control characters."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(letter: str) -> str:
    if letter in "'\\":
        return f"\\{letter}"
    return letter if letter.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))


def truncate(text: str, width: int, end: str = "…") -> str:
    """Returns text of at most `width` columns; if it was cut, it ends with `end`."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - cell_len(end))) + set_cell_size(end, min(width, cell_len(end)))


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of equal length as lines, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def name_list(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Returns the names of objects in one line. If there are many, it has the first, the last and the number of all."""
    all_of_them = [each["metadata"]["name"] for each in manifests]
    if len(all_of_them) <= _FEW:
        return ", ".join(all_of_them)
    return f"{all_of_them[0]} ... {all_of_them[-1]} ({len(all_of_them)})"
