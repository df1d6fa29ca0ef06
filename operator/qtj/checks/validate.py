"""`qtj validate`: every mistake in every file, each with its line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qtj.checks.gpu import gpu_warnings
from qtj.checks.job import check_file
from qtj.checks.study import study_of
from qtj.files.documents import file_of, read_documents
from qtj.terminal.errors import InputError, map_or_raise

__all__ = ["validate_files", "validation_of"]


def validate_files(paths: Sequence[Path]) -> str:
    """Checks all files and returns a line for each job, and one for each warning.

    Raises:
        InputError: Something is wrong, one line for each mistake of all files.
    """
    return "\n".join(map_or_raise(_validated, paths))


def validation_of(path: Path) -> Mapping[str, Any]:
    """Returns, for programs, whether a file is valid, and its mistakes: a sentence each."""
    try:
        validate_files([path])
    except InputError as problem:
        return {"file": str(path), "valid": False, "mistakes": str(problem).splitlines()}
    return {"file": str(path), "valid": True, "mistakes": []}


def _validated(path: Path) -> str:
    read = read_documents(path)
    if study := study_of(read):
        line = f"{read.name}: {study.name} is valid, with {study.size_text}"
        return "\n".join([line, *gpu_warnings(study.first_job())])
    file = file_of(read)
    check_file(file)
    lines = []
    for job in file.jobs:
        lines += [f"{file.name}: {job.manifest['metadata']['name']} is valid", *gpu_warnings(job)]
    return "\n".join(lines)
