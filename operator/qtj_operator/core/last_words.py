"""What the end of a program's log says of why it ended."""

import re
from collections.abc import Sequence

__all__ = ["last_words", "raised_in"]

_FRAME = re.compile(r'[\s|]*File ".*", line \d+')
"""A line of a Python traceback; within an exception group, behind a bar."""
_RAISED = re.compile(r"(?:\s+\| )?(?P<what>[^\W\d][\w.]*(?::.*)?)")
"""The line after the last frame: a type, and the first line of the message."""
_RULE = re.compile(r"[\s|+-]*")
"""An empty line, or one that frames an exception group."""


def last_words(log: str) -> str:
    """Returns the last line of a log; of an exception that is told in several, its type and first line before.

    Args:
        log: The end of the log, which may begin anywhere.
    """
    lines = [line for line in log.splitlines() if not _RULE.fullmatch(line)]
    last = lines[-1].strip(" |") if lines else ""
    raised = raised_in(lines)
    return last if raised in {None, last} else f"{raised} ... {last}"


def raised_in(lines: Sequence[str]) -> str | None:
    """Returns the exception that the last traceback among lines is of: its type, and the first line of its message."""
    frames = [index for index, line in enumerate(lines) if _FRAME.match(line)]
    after = lines[frames[-1] + 1 :] if frames else ()
    found = next((match for line in after if (match := _RAISED.fullmatch(line))), None)
    return found["what"].strip() if found else None
