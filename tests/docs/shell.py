"""The command lines of a `console` block: lines after a prompt, with the lines that continue them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

_HERE_DOCUMENT = re.compile(r"<<(\w+)")
_SUBSTITUTION = re.compile(r"\$\(([^()]+)\)")
_FILE = re.compile(r"> *(\S+)")
_ASSIGNMENT = re.compile(r"[A-Z_]+=.*")


@dataclass(frozen=True)
class Command:
    """One program with its arguments.

    Attributes:
        words: The program and its arguments, without redirections and assignments.
        document: What it reads from the lines after it.
        file: Where that is written.
    """

    words: Sequence[str]
    document: str = ""
    file: str = ""


def commands(text: str) -> Iterator[Command]:
    """Yields the commands of a `console` block. Other lines are what they print."""
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            continue
        written = line.removeprefix("$ ")
        while written.endswith("\\"):
            written = written.removesuffix("\\") + next(lines).strip()
        found = _HERE_DOCUMENT.search(written)
        document = "\n".join(_until(found[1], lines)) if found else ""
        file = _FILE.findall(written)[-1] if document else ""
        yield from (
            replace(each, document=document, file=file) for each in commands_of(_HERE_DOCUMENT.sub("", written))
        )


def commands_of(line: str) -> Iterator[Command]:
    """Yields the commands of one line, also those whose output is a part of it."""
    for inner in _SUBSTITUTION.findall(line):
        yield from commands_of(inner)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;()"):
            yield from _command(words)
            words = []
        else:
            words.append(word)


def _command(words: Sequence[str]) -> Iterator[Command]:
    """Yields a command without its redirections, and without the variables that are set for it."""
    kept = [word for before, word in zip(["", *words], words, strict=False) if not {before[:1], word[:1]} & set("<>")]
    while kept and _ASSIGNMENT.fullmatch(kept[0]):
        kept.pop(0)
    if kept:
        yield Command(kept)


def _until(end: str, lines: Iterator[str]) -> Iterator[str]:
    yield from takewhile(lambda line: line != end, lines)
