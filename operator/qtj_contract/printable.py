"""Makes a program's text safe for a terminal or a log."""

import re

__all__ = ["printable"]

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?")
"""Control sequences of terminals: ECMA-48, sections 5.4 and 5.6."""


def printable(text: str) -> str:
    """Returns a program's text without escape sequences, and with spaces for other characters that cannot be shown."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in _ESCAPE.sub("", text))
