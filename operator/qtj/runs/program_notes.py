"""Whether this machine has the programs of a job, and what these require."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote

from qtj.files.documents import Document
from qtj.local.program import TRAINER, CannotStartError, Configs, ProcessSpec, program_of
from qtj.local.rehearsal import Rehearsal
from qtj.local.unpacked import unpacked
from qtj.script.requirements import not_installed, requirements_in
from qtj.terminal.errors import InputError
from qtj_operator.api.program import Program

__all__ = ["program_notes"]

_FILE = "file:///"


def program_notes(document: Document, rehearsal: Rehearsal, configs: Configs) -> Iterator[str]:
    """Checks whether this machine has the programs of a job, and the data of the trainer; yields notes about them.

    Raises:
        InputError: It lacks one, which the status of a pod would only show later.
    """
    pods = list(rehearsal.pods)
    if rehearsal.inference:
        template = rehearsal.inference["spec"]["template"]
        pods.append({"metadata": rehearsal.inference["metadata"], "spec": template["spec"]})
    with unpacked(document.manifest["spec"], configs) as folder:
        for pod in pods:
            try:
                program = program_of(pod, configs=configs, replaced={}, folder=folder)
                _refuse_missing_data(program)
                yield from program.notes
            except CannotStartError as problem:
                raise InputError(f"{document.where(['spec', 'template', 'spec', 'containers'])}: {problem}") from None
    yield from _lacking(document)


def _lacking(document: Document) -> Iterator[str]:
    """Yields a sentence about the packages of `spec.program.requirements` that are not installed here."""
    written = document.manifest["spec"].get("program")
    program = Program.read(written) if written else None
    if program is None or program.requirements is None:
        return
    packages, name = program.requirements.packages, program.requirements.file
    files = program.files(document.data.get(("ConfigMap", program.config_map), {}))
    text = "\n".join(packages or ()) if name is None else files[name]
    if lacking := not_installed(requirements_in(text)):
        yield lacking


def _refuse_missing_data(program: ProcessSpec) -> None:
    """Refuses a file of examples that is not there, which the trainer would only notice once it has started."""
    if tuple(program.command[: len(TRAINER)]) != TRAINER:
        return
    for name in _values_of("--data", program.command):
        is_address = name.startswith(_FILE)
        path = program.folder / (unquote(name.removeprefix("file://")) if is_address else name)
        if (is_address or "://" not in name) and not path.exists():
            raise CannotStartError("StartError", f"--data {name} does not exist on this machine: name a file that does")


def _values_of(option: str, words: Sequence[str]) -> Iterator[str]:
    for word, after in pairwise([*words, ""]):
        if word == option:
            yield after
        elif word.startswith(f"{option}="):
            yield word.partition("=")[2]
