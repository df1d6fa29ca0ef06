"""The commands of `qtj`, each under its heading in the help."""

from typing import Annotated

import typer

from qtj.commands import files, history, operator, run, setup, tensorboard
from qtj.commands.group import Group, register
from qtj_contract.version import installed_version

__all__ = ["GROUPS", "app"]

GROUPS = {
    "Runs on this machine": (*run.COMMANDS, *history.COMMANDS, *tensorboard.COMMANDS),
    "Files and jobs": files.COMMANDS,
    "This machine": setup.COMMANDS,
    "The operator": operator.COMMANDS,
}
"""All commands, by the heading that they have in the help."""

app = typer.Typer(
    name="qtj",
    cls=Group,
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False
) -> None:
    """Train quantum models on Kubernetes, or on this machine."""
    if version:
        typer.echo(installed_version())
        raise typer.Exit


for heading, group in GROUPS.items():
    register(app, heading, group)
