"""Commands that show or profile jobs, of this machine or of a cluster. Each imports what it needs when it runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.names import replicas
from qtj.commands.parameters import Artifacts, Cluster, JobNames, Namespace, RunName, RunOrFile
from qtj.commands.place import is_on_cluster, job_named, job_of_cluster, jobs_checked
from qtj.terminal.errors import FAILED, InputError, exit_with_error
from qtj.terminal.output_format import Output, formatted
from qtj.terminal.streams import print_stdout
from qtj_contract.captures import LONGEST_SECONDS, MOST_STEPS, STEPS
from qtj_operator.api.defaults import TENSORBOARD_PORT

if TYPE_CHECKING:
    from qtj.profile.show import Taken

__all__ = ["COMMANDS"]

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Follow until the job has finished.")]
Duration = Annotated[
    str | None,
    typer.Option(metavar="TIME", help=f"How long it takes, such as 2s or 500ms; at most {LONGEST_SECONDS:.0f}s."),
]
Steps = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_STEPS, help="How many steps it takes.", show_default=f"{STEPS}, without --duration"),
]


def status(
    run: RunName = None,
    artifacts: Artifacts = None,
    namespace: Namespace = None,
    output: Output = None,
    *,
    watch: Watch = False,
    cluster: Cluster = False,
) -> None:
    """Show the phase of a job and why, its progress, its replicas, its last events, and what can be done next.

    Exit code with --watch: that of the job, or 130 after Ctrl-C.
    """
    with jobs_checked("status --cluster"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_status

            code = show_cluster_status(job_of_cluster(run, namespace), namespace, output, follow=watch)
        else:
            from qtj.monitor.local_source import show_local_status

            code = show_local_status(run, artifacts, output, follow=watch)
    raise typer.Exit(code)


def top(
    jobs: JobNames = None,
    namespace: Namespace = None,
    output: Output = None,
    *,
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="The jobs of all namespaces of the cluster.")
    ] = False,
    cluster: Cluster = False,
) -> None:
    """Show several jobs with their replicas: on a terminal until Ctrl-C, else once."""
    with jobs_checked("top --cluster"):
        if all_namespaces and (jobs or namespace):
            raise InputError("-A shows all jobs of all namespaces: leave -A out, or JOB and -n")
        if all_namespaces or is_on_cluster(namespace, None, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_jobs

            show_cluster_jobs(jobs or (), namespace, output, all_namespaces=all_namespaces)
        else:
            from qtj.monitor.local_source import show_local_jobs

            show_local_jobs(jobs or (), output)


def logs(
    run: RunName = None,
    replica: Annotated[
        str | None,
        typer.Argument(
            metavar="REPLICA",
            help="For example worker-0, or worker-0.2 for its second attempt.",
            autocompletion=replicas,
        ),
    ] = None,
    artifacts: Artifacts = None,
    namespace: Namespace = None,
    output: Output = None,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow until the job ends.")] = False,
    cluster: Cluster = False,
) -> None:
    """Show what the replicas of a job wrote, each line with the name and the attempt of its replica."""
    with jobs_checked("logs --cluster"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_logs

            show_cluster_logs(job_of_cluster(run, namespace), replica, namespace, output, follow=follow)
        else:
            from qtj.monitor.local_logs import show_local_logs

            show_local_logs(run, replica, artifacts, follow=follow, form=output)


def events(
    run: RunName = None,
    artifacts: Artifacts = None,
    namespace: Namespace = None,
    output: Output = None,
    *,
    watch: Watch = False,
    cluster: Cluster = False,
) -> None:
    """Show what happened to a job; on a cluster, also to its pods, its Services and its inference."""
    with jobs_checked("events --cluster"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_events

            show_cluster_events(job_of_cluster(run, namespace), namespace, output, follow=watch)
        else:
            from qtj.monitor.local_source import show_local_events

            show_local_events(run, artifacts, output, follow=watch)


def tensorboard(
    run: RunOrFile = None,
    artifacts: Artifacts = None,
    namespace: Namespace = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of this machine; 0 for any.")] = TENSORBOARD_PORT,
    *,
    cluster: Cluster = False,
) -> None:
    """Show the curves and profiles of a job in TensorBoard, until Ctrl-C.

    It serves the folder of a run of this machine. With --cluster or -n, it connects to the TensorBoard of a job on a
    cluster that has spec.tensorboard, by `kubectl port-forward`.
    """
    with jobs_checked("tensorboard", "tensorboard"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.tensorboard.cluster import forward

            forward(job_of_cluster(job_named(run), namespace), namespace, port)
        else:
            from qtj.tensorboard.local import serve_run

            serve_run(job_named(run), artifacts, port)


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
    with jobs_checked("profile --cluster"):
        from qtj.profile.show import length_of, profile_on_cluster, profile_run

        length, say = length_of(duration, steps), (lambda _: None) if output else print_stdout
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            job = job_of_cluster(job_named(run), namespace)
            taken = profile_on_cluster(job, namespace, length, say)
        else:
            taken = profile_run(job_named(run), artifacts, length, say)
    _print(taken, output)


def _print(taken: "Taken", output: Output) -> None:
    if output is not None:
        print_stdout(formatted([taken.record], output, name=lambda record: str(record["name"])))
        raise typer.Exit(0 if taken.is_stored else FAILED)
    if not taken.is_stored:
        exit_with_error(taken.sentence)
    print_stdout(taken.sentence)


COMMANDS = (
    Command(
        status, ("qtj status qcnn", "qtj status qcnn/1 -o yaml", "qtj status qcnn -n research -w"), asks_cluster=True
    ),
    Command(top, ("qtj top", "qtj top --cluster", "qtj top -A -o json"), asks_cluster=True),
    Command(logs, ("qtj logs qcnn", "qtj logs qcnn worker-0 -f", "qtj logs qcnn --cluster -f"), asks_cluster=True),
    Command(events, ("qtj events qcnn", "qtj events qcnn -n research -w"), asks_cluster=True),
    Command(
        tensorboard,
        ("qtj tensorboard qcnn", "qtj tensorboard job.yaml --cluster", "qtj tensorboard qcnn -n lab"),
        asks_cluster=True,
    ),
    Command(
        profile,
        ("qtj profile qcnn", "qtj profile qcnn --duration 2s", "qtj profile job.yaml -n lab --steps 20"),
        asks_cluster=True,
    ),
)
