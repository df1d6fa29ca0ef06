"""A job made of a program, where jobs of files are expected."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtj.files.documents import Document, File, with_settings
from qtj.files.settings import Setting
from qtj.files.yaml_reader import documents_of, value_of
from qtj.local.history import History
from qtj.script.objects import Storage, local_job
from qtj.script.program import Program, is_program, job_name, read_program
from qtj.terminal.errors import InputError

__all__ = ["NO_OPTIONS", "ProgramOptions", "document_of", "local_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """What a command line says about a program.

    Attributes:
        arguments: Its arguments.
        name: The name of the job; None for that of the file.
        workers: How many workers train; None for one.
        requirements: A file with packages that it needs; None for no other than the image has.
    """

    arguments: Sequence[str] = ()
    name: str | None = None
    workers: int | None = None
    requirements: Path | None = None

    @property
    def words(self) -> Sequence[str]:
        """The same as words of a command line."""
        given = {"--name": self.name, "--workers": self.workers, "--requirements": self.requirements}
        options = (word for name, value in given.items() if value is not None for word in (name, str(value)))
        return (*options, *(("--", *self.arguments) if self.arguments else ()))

    def check_unused(self, file: Path) -> None:
        """Refuses what is about a program, where a file in YAML is named.

        Raises:
            InputError: Something is given.
        """
        if is_program(file):
            return
        if self.arguments:
            raise InputError(f"arguments after FILE are for a program in Python, and {file} names its own: use --set")
        if self.name is not None or self.workers is not None:
            raise InputError(f"--name and --workers are for a program in Python, and {file} has both: use --set")
        if self.requirements is not None:
            where = "write spec.program.requirements"
            raise InputError(f"--requirements is for a program in Python, and {file} is none: {where}")


NO_OPTIONS = ProgramOptions()
"""Nothing is said."""


def local_file(path: Path, options: ProgramOptions, settings: Sequence[Setting]) -> tuple[File, Program]:
    """Returns the job that runs a program on this machine, as if it were a file; and the program.

    Raises:
        InputError: The program cannot be read, or a setting has no place.
    """
    program = read_program(path, options.arguments, options.requirements)
    name = job_name(path, options.name)
    storage = Storage(uri=(History().root.absolute() / name).as_uri())
    document = document_of(program, local_job(program, name, options.workers or 1, storage), settings)
    return File(name=document.file, jobs=[document]), program


def document_of(program: Program, manifest: Mapping[str, Any], settings: Sequence[Setting]) -> Document:
    """Returns a job that was made of a program, with settings.

    Raises:
        InputError: One of them has no place.
    """
    name = f"the job of {program.path.name}"
    node = next(documents_of(name, json.dumps(manifest, indent=1, ensure_ascii=False)))
    return with_settings(Document(value_of(node), name, node, is_made=True), settings)
