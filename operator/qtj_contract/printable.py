"""Makes the text of a program or of a library fit for a terminal, a log, or a sentence of ours."""

import re
import unicodedata

__all__ = ["printable", "reason_of", "visible"]

_LONGEST = 200
"""Characters of a library's message that are shown."""

_LAYOUT = "\n\t"
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?")
"""Control sequences of terminals: ECMA-48, sections 5.4 and 5.6."""


def printable(text: str) -> str:
    """Returns a program's text without escape sequences, and with spaces for other characters that cannot be shown."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in _ESCAPE.sub("", text))


def visible(text: str) -> str:
    r"""Returns text with all control characters written as escapes, such as ``\x1b``."""
    return "".join(c if _is_shown(c) or c in _LAYOUT else c.encode("unicode_escape").decode() for c in text)


def reason_of(problem: Exception) -> str:
    """Returns the message of a library's exception as part of a sentence: on one line, with a limited length."""
    return (" ".join(str(problem).split()) or type(problem).__name__)[:_LONGEST]


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"  # spaces of other scripts
