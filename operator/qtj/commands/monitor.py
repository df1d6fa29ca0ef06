"""Commands that show jobs, of this machine or of a cluster. Each imports what it needs when it runs."""

from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.names import replicas
from qtj.commands.parameters import Artifacts, Cluster, JobNames, Namespace, RunName
from qtj.commands.place import cluster_named, is_on_cluster, job_of_cluster
from qtj.terminal.errors import InputError, input_checked, needs_extra
from qtj.terminal.output_format import Output

__all__ = ["COMMANDS"]

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Follow until the job has finished.")]


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
    with input_checked(), needs_extra("operator", "status --cluster"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_status

            code = show_cluster_status(job_of_cluster(run, namespace), namespace, output, follow=watch)
        else:
            from qtj.monitor.local import show_local_status

            with cluster_named():
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
    with input_checked(), needs_extra("operator", "top --cluster"):
        if all_namespaces and (jobs or namespace):
            raise InputError("-A shows all jobs of all namespaces: leave -A out, or JOB and -n")
        if all_namespaces or is_on_cluster(namespace, None, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_board

            show_cluster_board(jobs or (), namespace, output, all_namespaces=all_namespaces)
        else:
            from qtj.monitor.local import show_local_board

            with cluster_named():
                show_local_board(jobs or (), output)


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
    with input_checked(), needs_extra("operator", "logs --cluster"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_logs

            show_cluster_logs(job_of_cluster(run, namespace), replica, namespace, output, follow=follow)
        else:
            from qtj.monitor.local_logs import show_local_logs

            with cluster_named():
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
    with input_checked(), needs_extra("operator", "events --cluster"):
        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.monitor.cluster import show_cluster_events

            show_cluster_events(job_of_cluster(run, namespace), namespace, output, follow=watch)
        else:
            from qtj.monitor.local import show_local_events

            with cluster_named():
                show_local_events(run, artifacts, output, follow=watch)


COMMANDS = (
    Command(
        status, ("qtj status qcnn", "qtj status qcnn/1 -o yaml", "qtj status qcnn -n research -w"), asks_cluster=True
    ),
    Command(top, ("qtj top", "qtj top --cluster", "qtj top -A -o json"), asks_cluster=True),
    Command(logs, ("qtj logs qcnn", "qtj logs qcnn worker-0 -f", "qtj logs qcnn --cluster -f"), asks_cluster=True),
    Command(events, ("qtj events qcnn", "qtj events qcnn -n research -w"), asks_cluster=True),
)
