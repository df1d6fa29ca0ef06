"""How commands end, and what a user did wrong: one sentence with where, what, and what to do."""

from typing import NoReturn

import typer

from qtj_operator.api.spelling import meant

__all__ = ["COMPLETE", "FAILED", "INPUT", "INTERRUPTED", "InputError", "end", "meant"]

COMPLETE, FAILED, INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of `qtj`."""


class InputError(Exception):
    """Something that the user has to correct; one line for each mistake."""


def end(sentence: str, code: int = FAILED) -> NoReturn:
    """Says on stderr what is wrong and ends the command."""
    typer.echo("\n".join(f"qtj: {line}" for line in sentence.splitlines()), err=True)
    raise typer.Exit(code)
