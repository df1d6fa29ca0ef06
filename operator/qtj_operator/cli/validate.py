"""`qtj validate`: every mistake in every file, each with its line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from qtj_operator.cli.check import checked
from qtj_operator.cli.errors import InputError
from qtj_operator.cli.manifests import Document, read_file

__all__ = ["validate_files"]


def validate_files(paths: Sequence[Path]) -> str:
    """Checks all files and returns a line for each job.

    Raises:
        InputError: Something is wrong, one line for each mistake of all files.
    """
    wrong: list[str] = []
    fine: list[str] = []
    for path in paths:
        for document in _documents(path, wrong):
            try:
                checked(document)
            except InputError as problem:
                wrong.append(str(problem))
            else:
                fine.append(f"{path}: {document.manifest['metadata']['name']} is valid")
    if wrong:
        raise InputError("\n".join(wrong))
    return "\n".join(fine)


def _documents(path: Path, wrong: list[str]) -> Iterator[Document]:
    try:
        yield from read_file(path).jobs
    except InputError as problem:
        wrong.append(str(problem))
