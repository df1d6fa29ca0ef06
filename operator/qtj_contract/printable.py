"""Text that a program wrote, as a terminal or a log may show it."""

import re

__all__ = ["printable"]

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?")
"""What a terminal takes for a command: ECMA-48, sections 5.4 and 5.6."""


def printable(text: str) -> str:
    """Returns a program's text without escape sequences, and with spaces for what else cannot be shown."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in _ESCAPE.sub("", text))
