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
ThroughPod = Annotated[
    bool,
    typer.Option("--through-pod", help="Read them in a pod with the image, volumes and service account of the job."),
]


def fetch(job: JobName, to: To = None, namespace: Namespace = None, *, through_pod: ThroughPod = False) -> None:
    """Copy what a job on a cluster has stored to this machine: weights, predictions, the circuit and the report.

    They are read with your own rights. Where you have none to the bucket, or they are on a volume of the pods, a pod
    reads them that is removed afterwards: --through-pod. It takes the rights to create, get and delete pods, and to
    get and create pods/exec.
    """
    with input_checked(), needs_extra("operator", "fetch"):
        from qtj.report.fetch import fetch_cluster_job

        for line in fetch_cluster_job(job, namespace, to, through_pod=through_pod):
            print_stdout(line)


EXAMPLES = ("qtj fetch qcnn", "qtj fetch qcnn -n research --to results", "qtj fetch qcnn --through-pod")
COMMANDS = (Command(fetch, EXAMPLES, asks_cluster=True),)
