"""Where a command looks for a job: on this machine, or on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from qtj.cluster.choice import CHOICE
from qtj.terminal.errors import InputError

__all__ = ["cluster_named", "is_on_cluster", "job_of_cluster"]


def is_on_cluster(namespace: str | None, artifacts: str | None, *, cluster: bool) -> bool:
    """Tells whether a command is about a cluster: if it says so, or names a namespace, a context or a kubeconfig.

    Raises:
        InputError: It names a folder of this machine as well.
    """
    on_cluster = cluster or namespace is not None or CHOICE.is_made
    if on_cluster and artifacts is not None:
        raise InputError("--artifacts is a folder of this machine, and the job is on a cluster: leave one of them out")
    return on_cluster


@contextmanager
def cluster_named() -> Iterator[None]:
    """Adds to the sentence about a run that is not here that the job may be on a cluster.

    No command looks there unasked: it would depend on the folder which of two jobs of one name is shown.
    """
    from qtj.runs.folders import NoRunError

    try:
        yield
    except NoRunError as problem:
        raise InputError(f"{problem}, and --cluster shows a job of your cluster") from None


def job_of_cluster(run: str | None, namespace: str | None) -> str:
    """Returns the name of a job of a cluster.

    Args:
        run: The name, if it is given.
        namespace: The value of -n.

    Raises:
        InputError: It is left out.
    """
    if run is None:
        where = f"-n {namespace}" if namespace else "--cluster"
        raise InputError(f"no job is named: `qtj top {where}` shows the jobs of the namespace")
    return run
