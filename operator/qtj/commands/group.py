"""The `qtj` command as a whole: how commands are registered, and the sentence for a mistake in a command line."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import typer
from rich.markup import escape
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperGroup

from qtj.commands.answer import COMPLETE_VARIABLE, answer
from qtj.commands.parameters import Context, Kubeconfig
from qtj.terminal.errors import COMPLETE, INTERRUPTED
from qtj.terminal.streams import print_stderr

__all__ = ["Command", "Group", "register"]

_SUGGESTION = re.compile(r"[.]? (?:Did you mean|\(Possible options:) (?P<words>[^?)]+)[?)]$")

_PLAIN_WORDS = (
    ("Value error, ", ""),
    ("Input should be a valid integer.*", "this has to be a whole number"),
    ("Input should be greater than or equal to (.*)", r"this has to be \1 or more"),
    ("Input should be less than or equal to (.*)", r"this has to be \1 or less"),
    (r"\s+", " "),
)
"""Messages of pydantic and Typer, as expressions, and their replacements."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `qtj`.

    Attributes:
        function: What it does; its docstring is its help.
        examples: Command lines that end its help. They must work as they are written.
        name: Its name, if it differs from that of the function.
        passes_options: Whether another program reads its options, `--help` among them.
        asks_cluster: Whether it has --context and --kubeconfig, which name a cluster.
    """

    function: Callable[..., None]
    examples: Sequence[str]
    name: str | None = None
    passes_options: bool = False
    asks_cluster: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """How click handles its options."""
        return {"ignore_unknown_options": True, "help_option_names": []} if self.passes_options else {}


def register(app: typer.Typer, panel: str, commands: Sequence[Command]) -> None:
    """Adds commands to the application, below one heading of its help."""
    for command in commands:
        epilog = _epilog(command.examples)
        declared = app.command(command.name, rich_help_panel=panel, epilog=epilog, context_settings=command.settings)
        declared(_naming_cluster(command.function) if command.asks_cluster else command.function)


def _naming_cluster(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that name a cluster; it has been chosen before the function runs."""

    @wraps(function)
    def run(*, context: str | None, kubeconfig: str | None, **others: object) -> None:
        function(**others)

    known = signature(function, eval_str=True)
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in (("context", Context), ("kubeconfig", Kubeconfig))
    ]
    run.__signature__ = known.replace(parameters=[*known.parameters.values(), *added])  # type: ignore[attr-defined]
    return run


def _epilog(examples: Sequence[str]) -> str:
    # Typer joins single lines of an epilog into a paragraph.
    return "\n\n".join(("Examples:" if len(examples) > 1 else "Example:", *(f"  {escape(each)}" for each in examples)))


class Group(TyperGroup):
    """All commands. A mistake in the command line is one sentence on stderr, as for any other mistake of a user."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Runs a command and ends the process with one of the exit codes of `qtj`."""
        if COMPLETE_VARIABLE in os.environ:
            completion_init()
            extra["complete_var"] = COMPLETE_VARIABLE
            answer(lambda: super(Group, self).main(*args, **extra), self._takes_files)
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except typer.Abort:  # Ctrl-C or Ctrl-D at a question
            code = INTERRUPTED
        except typer.TyperException as problem:
            _print_mistake(problem)
            code = problem.exit_code
        except SystemExit as ending:
            if not isinstance(ending.__context__, BrokenPipeError):
                raise
            # The reader has left. Typer and rich then end the process with 1, which means here that a job failed.
            code = COMPLETE
        sys.exit(code)

    def _takes_files(self, name: str) -> bool:
        """Tells whether a command has files among its arguments and options."""
        declared = getattr(self.commands.get(name), "callback", None)
        return any("Path" in str(each) for each in getattr(declared, "__annotations__", {}).values())


def _in_plain_words(message: str) -> str:
    """Returns a message of Typer without the wording of pydantic, which checks its values."""
    for raw, plain in _PLAIN_WORDS:
        message = re.sub(raw, plain, message)
    return message


def _print_mistake(problem: typer.TyperException) -> None:
    """Prints what is wrong with the command line; a command without any argument has printed its help instead."""
    message = _in_plain_words(problem.format_message().rstrip("."))
    context = getattr(problem, "ctx", None)
    if message.strip() and context is not None:
        sentence = _SUGGESTION.sub(r": did you mean \g<words>?", message[0].lower() + message[1:])
        print_stderr(f"qtj: {sentence} (see {context.command_path} --help)")
