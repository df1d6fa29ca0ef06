"""Whether this machine has the programs of a job, and what these require."""

from collections.abc import Iterator

from qtj.files.documents import Document
from qtj.local.program import CannotStartError, Configs, program_of
from qtj.local.rehearsal import Rehearsal
from qtj.local.unpacked import unpacked
from qtj.script.requirements import not_installed, requirements_in
from qtj.terminal.errors import InputError
from qtj_operator.api.program import Program

__all__ = ["program_notes"]


def program_notes(document: Document, rehearsal: Rehearsal, configs: Configs) -> Iterator[str]:
    """Checks whether this machine has the programs of a job; yields what a user should know about them.

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
                yield from program_of(pod, configs=configs, replaced={}, folder=folder).notes
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
    text = "\n".join(packages or ()) if name is None else document.data["ConfigMap", program.config_map][name]
    if lacking := not_installed(requirements_in(text)):
        yield lacking
