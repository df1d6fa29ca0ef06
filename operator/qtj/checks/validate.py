"""`qtj validate`: every mistake in every file, each with its line."""

from collections.abc import Sequence
from pathlib import Path

from qtj.checks.check import all_checked
from qtj.files.manifests import read_file
from qtj.terminal.gather import each_of

__all__ = ["validate_files"]


def validate_files(paths: Sequence[Path]) -> str:
    """Checks all files and returns a line for each job.

    Raises:
        InputError: Something is wrong, one line for each mistake of all files.
    """
    return "\n".join(each_of(_validated, paths))


def _validated(path: Path) -> str:
    file = read_file(path)
    all_checked(file)
    return "\n".join(f"{file.name}: {job.manifest['metadata']['name']} is valid" for job in file.jobs)
