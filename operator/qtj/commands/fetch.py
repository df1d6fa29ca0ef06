"""The command that takes home what a job of a cluster has stored. It imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import JobName, Namespace
from qtj.terminal.errors import input_checked, needs_extra
from qtj.terminal.streams import print_stdout

__all__ = ["COMMANDS"]

To = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where the files are written.", show_default="JOB-results")
]


def fetch(job: JobName, to: To = None, namespace: Namespace = None) -> None:
    """Copy what a job on a cluster has stored to this machine: weights, predictions, the circuit and the report.

    They are read with your own rights. What is on a volume of the pods cannot be read from here.
    """
    with input_checked(), needs_extra("operator", "fetch"):
        from qtj.report.fetch import fetch_cluster_job

        for line in fetch_cluster_job(job, namespace, to):
            print_stdout(line)


COMMANDS = (Command(fetch, ("qtj fetch qcnn", "qtj fetch qcnn -n research --to results"), asks_cluster=True),)
