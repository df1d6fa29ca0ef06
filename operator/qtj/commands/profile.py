"""The command that takes profiles. It imports what it needs when it runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import Artifacts, Cluster, Namespace, RunOrFile
from qtj.commands.place import cluster_named, is_on_cluster, job_of_cluster
from qtj.terminal.errors import FAILED, exit_with_error, input_checked, needs_extra
from qtj.terminal.output_format import Output, formatted
from qtj.terminal.streams import print_stdout
from qtj_contract.captures import LONGEST_SECONDS, MOST_STEPS, STEPS

if TYPE_CHECKING:
    from qtj.profile.show import Taken

__all__ = ["COMMANDS"]

Duration = Annotated[
    str | None,
    typer.Option(metavar="TIME", help=f"How long it takes, such as 2s or 500ms; at most {LONGEST_SECONDS:.0f}s."),
]
Steps = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_STEPS, help="How many steps it takes.", show_default=f"{STEPS}, without --duration"),
]


def profile(
    run: RunOrFile = None,
    artifacts: Artifacts = None,
    namespace: Namespace = None,
    output: Output = None,
    *,
    duration: Duration = None,
    steps: Steps = None,
    cluster: Cluster = False,
) -> None:
    """Take a profile of all workers of a job that trains, from the same step on, and wait until it is stored.

    It starts some seconds later, does not stop the training, and is listed in status.profiles of the job. TensorBoard
    shows it, on the page Profile.
    """
    with input_checked(), needs_extra("operator", "profile --cluster"):
        from qtj.profile.show import length_of, profile_on_cluster, profile_run
        from qtj.tensorboard.target import job_named

        length, say = length_of(duration, steps), print_stdout if output is None else _nothing
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            job = job_of_cluster(job_named(run), namespace)
            taken = profile_on_cluster(job, namespace, length, say)
        else:
            with cluster_named():
                taken = profile_run(job_named(run), artifacts, length, say)
    _print(taken, output)


def _print(taken: "Taken", output: Output) -> None:
    if output is not None:
        print_stdout(formatted([taken.record], output, name=lambda record: str(record["name"])))
        raise typer.Exit(0 if taken.is_stored else FAILED)
    if not taken.is_stored:
        exit_with_error(taken.sentence)
    print_stdout(taken.sentence)


def _nothing(_sentence: str) -> None:
    """Prints nothing: a program reads the output."""


COMMANDS = (
    Command(
        profile,
        ("qtj profile qcnn", "qtj profile qcnn --duration 2s", "qtj profile job.yaml -n lab --steps 20"),
        asks_cluster=True,
    ),
)
