"""The command that shows curves and profiles. It imports what it needs when it runs."""

from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import Artifacts, Cluster, Namespace, RunOrFile
from qtj.commands.place import cluster_named, is_on_cluster, job_of_cluster
from qtj.terminal.errors import input_checked, needs_extra
from qtj_operator.api.defaults import TENSORBOARD_PORT

__all__ = ["COMMANDS"]


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
    with input_checked(), needs_extra("tensorboard", "tensorboard"):
        from qtj.tensorboard.target import job_named

        if is_on_cluster(namespace, artifacts, cluster=cluster):
            from qtj.tensorboard.cluster import forward

            forward(job_of_cluster(job_named(run), namespace), namespace, port)
        else:
            from qtj.tensorboard.local import serve_run

            with cluster_named():
                serve_run(job_named(run), artifacts, port)


COMMANDS = (
    Command(
        tensorboard,
        ("qtj tensorboard qcnn", "qtj tensorboard job.yaml --cluster", "qtj tensorboard qcnn -n lab"),
        asks_cluster=True,
    ),
)
