"""The reference of the command line, from the commands themselves."""

from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from qtj.commands.main import GROUPS, app

COMMANDS = Path(__file__).parents[2] / "docs/reference/commands.md"

_HEAD = """\
# Commands and options

Every command of `qtj` with its arguments and options, as `qtj COMMAND --help` shows them. Generated from the commands
by `make reference`. [cli.md](cli.md) describes how the commands work together.
"""


def commands() -> str:
    """Returns the reference as Markdown."""
    application = get_command(app)
    assert isinstance(application, TyperGroup)
    lines = [_HEAD]
    for heading, group in GROUPS.items():
        lines += [f"## {heading}", ""]
        for each in group:
            name = each.name or each.function.__name__
            command = application.commands[name]
            assert isinstance(command, TyperCommand)
            lines += [*_command(command), "```console"]
            lines += [*(f"$ {example}" for example in each.examples), "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _command(command: TyperCommand) -> Iterator[str]:
    context = command.make_context(command.name, [], resilient_parsing=True)
    yield from (f"### `qtj {command.name}`", "", _in_one_line(command.help or ""), "")
    records = [each.get_help_record(context) for each in command.params]
    if rows := [f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in filter(None, records)]:
        yield from ("| argument or option | meaning |", "|---|---|", *rows, "")


def _cell(text: str) -> str:
    return _in_one_line(text).replace("|", r"\|")


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
