"""The commands of `qtj`, each under its heading in the help."""

from inspect import signature
from typing import Annotated

import typer

from qtj.commands import files, monitor, operator, run, setup, submit
from qtj.commands.group import Group, register
from qtj_contract.version import installed_version

__all__ = ["GROUPS", "ON_CLUSTER", "app"]

GROUPS = {
    "Runs on this machine": run.COMMANDS,
    "Jobs, on this machine and on a cluster": monitor.COMMANDS,
    "Jobs on a cluster": submit.COMMANDS,
    "Files with jobs": files.COMMANDS,
    "This machine": setup.COMMANDS,
    "The operator": operator.COMMANDS,
}
"""All commands, by the heading that they have in the help."""

ON_CLUSTER = {
    each.name or each.function.__name__: {"cluster": True}
    for commands in GROUPS.values()
    for each in commands
    if "cluster" in signature(each.function).parameters
}
"""The defaults of `kubectl qtj`: every command that has --cluster is about the cluster."""

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
