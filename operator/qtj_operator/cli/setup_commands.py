"""Commands for a new machine. Each imports what it needs when it runs, so that `--help` answers at once."""

from enum import StrEnum
from typing import Annotated

import typer

from qtj_operator.cli.group import COMPLETE_VARIABLE, Command
from qtj_operator.cli.printing import say

__all__ = ["COMMANDS"]


class Shell(StrEnum):
    """A shell that completion is written for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]) -> None:
    """Print what makes the TAB key complete commands, options and files; put it where your shell reads it."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415

    say(get_completion_script(prog_name="qtj", complete_var=COMPLETE_VARIABLE, shell=shell.value))


COMMANDS = (
    Command(
        completion,
        (
            'eval "$(qtj completion bash)"',
            "qtj completion zsh > ~/.zfunc/_qtj",
            "qtj completion fish > ~/.config/fish/completions/qtj.fish",
        ),
    ),
)
