"""Finds the reason why a program ended, in the end of its log."""

import re
from collections.abc import Sequence

__all__ = ["end_message", "raised_in"]

_FRAME = re.compile(r'[\s|]*File ".*", line \d+')
"""A line of a Python traceback; in an exception group, after a bar."""
_RAISED = re.compile(r"(?:\s+\| )?(?P<what>[^\W\d][\w.]*(?::.*)?)")
"""The line after the last frame: a type, and the first line of the message."""
_RULE = re.compile(r"[\s|+-]*")
"""An empty line, or one that only draws the frame of an exception group."""


def end_message(log: str) -> str:
    """Returns the last line of a log, and before it the first line of an exception whose message has several lines.

    Args:
        log: The end of the log, from any position.
    """
    lines = [line for line in log.splitlines() if not _RULE.fullmatch(line)]
    last = lines[-1].strip(" |") if lines else ""
    raised = raised_in(lines)
    return last if raised in {None, last} else f"{raised} ... {last}"


def raised_in(lines: Sequence[str]) -> str | None:
    """Returns the exception of the last traceback: its type, and the first line of its message."""
    frames = [index for index, line in enumerate(lines) if _FRAME.match(line)]
    after = lines[frames[-1] + 1 :] if frames else ()
    raised = next((match for line in after if (match := _RAISED.fullmatch(line))), None)
    return raised["what"].strip() if raised else None
