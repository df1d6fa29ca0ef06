"""The objects of a job on this machine: what a study makes its template of."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from qtj.files.documents import Document, read_documents, with_settings
from qtj.files.settings import Setting
from qtj.files.yaml_reader import documents_of, value_of
from qtj.script.documents import ProgramOptions, local_file
from qtj.terminal.errors import InputError
from qtj_operator.api.names import KIND

__all__ = ["file_objects", "objects_in", "program_objects"]

Objects = Sequence[dict[str, Any]]


def file_objects(file: Path, settings: Sequence[str]) -> Objects:
    """Returns the objects of a file, the job last.

    Raises:
        InputError: It cannot be read, or has no job.
    """
    read = read_documents(file)
    if read.mistakes:
        raise InputError("\n".join(read.mistakes))
    return _sorted(file, read.objects, settings)


def objects_in(file: Path, text: str, settings: Sequence[str]) -> Objects:
    """Returns the objects of a text that was made of a program, the job last.

    Raises:
        InputError: A setting has no place.
    """
    nodes = documents_of(str(file), text)
    return _sorted(file, (Document(value_of(node), str(file), node) for node in nodes), settings)


def program_objects(file: Path, options: ProgramOptions, settings: Sequence[str]) -> Objects:
    """Returns the job that runs a program where it is.

    Raises:
        InputError: The program cannot be read, or a setting has no place.
    """
    found, _ = local_file(file, options, [Setting.parse(each) for each in settings])
    return [each.manifest for each in found.jobs]


def _sorted(file: Path, documents: Iterable[Document], settings: Sequence[str]) -> Objects:
    jobs: list[Document] = []
    others: list[Document] = []
    for each in documents:
        (jobs if each.manifest.get("kind") == KIND else others).append(each)
    if not jobs:
        raise InputError(f"{file} has no {KIND}: name a file with one")
    parsed = [Setting.parse(each) for each in settings]
    return [*(each.manifest for each in others), *(with_settings(each, parsed).manifest for each in jobs)]
