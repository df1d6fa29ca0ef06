"""Which job a command is about, and where it looks for it: on this machine, or on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qtj.cluster.choice import CHOICE
from qtj.terminal.errors import InputError, input_checked, needs_extra

__all__ = ["is_on_cluster", "job_named", "job_of_cluster", "jobs_checked"]


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
def jobs_checked(command: str, extra: str = "operator") -> Iterator[None]:
    """Ends a command about jobs with one sentence for a mistake of the user, or a library that is not installed.

    The sentence about a run that is not here adds that the job may be on a cluster. No command looks there unasked: it
    would depend on the folder which of two jobs of one name is shown.

    Args:
        command: The command, for the sentence about the libraries.
        extra: The extra that has them.
    """
    with input_checked(), needs_extra(extra, command):
        from qtj.runs.folders import NoRunError

        try:
            yield
        except NoRunError as problem:
            raise InputError(f"{problem}, and --cluster shows a job of your cluster") from None


def job_named(word: str | None) -> str | None:
    """Returns the name of a job or a run: the word itself, or the job of the file that it names.

    Raises:
        InputError: The file has no job, or several.
    """
    from qtj.files.documents import read_file

    if word is None or not _is_file(word):
        return word
    file = read_file(Path(word))
    if file.mistakes:
        raise InputError("\n".join(file.mistakes))
    names = [str(job.manifest["metadata"]["name"]) for job in file.jobs]
    if len(names) > 1:
        raise InputError(f"{word} has several jobs: name one of {', '.join(names)} instead of the file")
    return names[0]


def _is_file(word: str) -> bool:
    return word.endswith((".yaml", ".yml", ".json")) or Path(word).is_file()


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
