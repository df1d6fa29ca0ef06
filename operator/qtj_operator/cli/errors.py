"""How commands end, and what a user did wrong: one sentence with where, what, and what to do."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import NoReturn

import typer

__all__ = ["COMPLETE", "FAILED", "INPUT", "INTERRUPTED", "InputError", "end", "input_checked", "meant"]

COMPLETE, FAILED, INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of `qtj`."""


class InputError(Exception):
    """Something that the user has to correct; one line for each mistake."""


@contextmanager
def input_checked() -> Iterator[None]:
    """Ends the command with one sentence for each mistake of the user's, and without one on Ctrl-C."""
    try:
        yield
    except InputError as problem:
        end(str(problem), INPUT)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def meant(word: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence on an unknown word: which of the known ones it may stand for, if any does."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(str(word).replace("_", "").lower(), names, n=1)
    return f": write {names[near[0]]}" if near else ""


def end(sentence: str, code: int = FAILED) -> NoReturn:
    """Says on stderr what is wrong and ends the command."""
    typer.echo("\n".join(f"qtj: {line}" for line in sentence.splitlines()), err=True)
    raise typer.Exit(code)
