"""What a job left on this machine: found by its name, and refused when another lies there."""

from typing import Any

from qtj_operator.cli.errors import InputError
from qtj_operator.cli.run import folder_of
from qtj_operator.local.folder import Folder, FolderError

__all__ = ["recorded"]


def recorded(job: str, artifacts: str | None) -> tuple[Folder, dict[str, Any]]:
    """Returns the folder of a job that was run here, and the job as it is recorded there.

    Args:
        job: The job's name.
        artifacts: What --artifacts says: a folder, or an address.

    Raises:
        InputError: It was not run here.
    """
    folder, _ = folder_of(job, artifacts)
    try:
        record = folder.load()
    except FolderError as problem:
        raise InputError(str(problem)) from None
    if (name := record["metadata"]["name"]) != job:
        raise InputError(f"{folder.path} holds the job {name}, not {job}: write {name}, or name {job}'s --artifacts")
    return folder, record
