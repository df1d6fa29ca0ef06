"""The programs of a job: which files are the user's own, what changed in them, and whether this machine has all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from qtj.files.documents import Document
from qtj.local.container import TRAINER, CannotStartError, ProcessSpec, moved_text, program_of, unpack, unpacked
from qtj.local.folder import Folder
from qtj.local.rehearsal import Rehearsal
from qtj.local.variables import Configs, as_text
from qtj.script.program import not_installed, requirements_in
from qtj.terminal.errors import InputError
from qtj_contract.origin import Origin, commit_of, machine
from qtj_contract.program_source import ProgramSource, read_source
from qtj_contract.stored_source import FOLDER, changes, newest, origin_name, programs_from, stored_files
from qtj_contract.whole_file import read_regular, write_whole
from qtj_operator.api.job import is_trainer, main_container
from qtj_operator.api.program import Program, with_program

__all__ = [
    "changed_arguments",
    "changed_programs",
    "earlier_programs",
    "program_notes",
    "programs_of",
    "store_programs",
]

Programs = Mapping[str, ProgramSource]


_FILE = "file:///"


def programs_of(spec: Mapping[str, Any], configs: Configs) -> Programs:
    """Returns the Python programs of a job's replicas, by their paths as its containers name them.

    They are found in the command: the first word that is a Python file of this machine, or the module after -m. Other
    programs, as in `sh -c`, are not known.

    Args:
        spec: The job's spec.
        configs: The ConfigMaps of the file, of which `spec.program` may name one.
    """
    with unpacked(spec, configs) as here:
        return {path: source for container in _containers(spec) for path, source in _program(container, here)}


def earlier_programs(folder: Path) -> Programs | None:
    """Returns the programs that a run was started with last; None if they are not known."""
    number = _newest(folder)
    try:
        return programs_from(read_regular(folder / FOLDER / str(number) / "source.json")) if number else None
    except (OSError, ValueError, RecursionError):
        return None


def changed_programs(earlier: Programs | None, now: Programs) -> list[str]:
    """Returns what changed in text and data, a few words each; nothing where the earlier ones are not known.

    Arguments are left out: they are fields of the job.
    """
    return changes(_without_arguments(earlier), _without_arguments(now)) if earlier is not None else []


def changed_arguments(earlier: Programs | None, now: Programs) -> list[str]:
    """Returns which arguments changed, a few words each: `--seed 0 -> 1`."""
    pairs = ((source, now[path]) for path, source in (earlier or {}).items() if path in now)
    return [words for before, after in pairs for words in after.changed_arguments(before)]


def store_programs(run: Folder, spec: Mapping[str, Any], configs: Configs) -> None:
    """Writes what a run starts: `spec.program` unpacked, and its own programs, unless its last ones are the same.

    Args:
        run: The folder of the run.
        spec: The job's spec.
        configs: The ConfigMaps of the file, of which `spec.program` may name one.

    Raises:
        OSError: They cannot be written.
    """
    unpack(spec, configs, run.program)
    programs, folder = programs_of(spec, configs), run.path
    if not programs:
        return
    number = _newest(folder)
    if programs != earlier_programs(folder):
        number += 1
        for name, data in stored_files(programs, number).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
    write_whole(folder / origin_name(number), _origin(programs, spec).to_bytes())


def _origin(programs: Programs, spec: Mapping[str, Any]) -> Origin:
    """Returns what is known before a program starts. `qtj_trainer.Program` records more once it runs."""
    return Origin(commit="" if "program" in spec else _commit(programs, spec), machine=machine())


def _commit(programs: Programs, spec: Mapping[str, Any]) -> str:
    """Returns the git commit of the first program, in its own folder, not in that of the command."""
    path, source = next(iter(programs.items()))
    container = next(each for each in _containers(spec) if not is_trainer(each))
    folder = Path(as_text(container.get("workingDir")) or ".").absolute()
    script = folder / (path if path.endswith(".py") else source.script)
    return commit_of(script.parent, [script.name])


def _newest(folder: Path) -> int:
    return newest(path.relative_to(folder).as_posix() for path in (folder / FOLDER).glob("*/source.json"))


def _without_arguments(programs: Programs) -> Programs:
    return {path: replace(source, arguments=()) for path, source in programs.items()}


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for replica in spec["replicaSpecs"].values():
        template = (replica or {}).get("template") or spec.get("template")
        if template and (program := spec.get("program")):
            template = with_program(template, Program.read(program))
        if template:
            yield main_container(template["spec"]["containers"])


def _program(container: Mapping[str, Any], here: Path) -> Iterator[tuple[str, ProgramSource]]:
    """Yields the program of a container, and its name there; `here` has the files of `spec.program`."""
    if is_trainer(container):
        return
    folder = Path(moved_text(as_text(container.get("workingDir")), here) or ".").absolute()
    words = [as_text(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
    for index, word in enumerate(words):
        rest = words[index + 1 :]
        if word == "-m" and rest and (module := folder.joinpath(*rest[0].split(".")).with_suffix(".py")).is_file():
            yield rest[0], read_source(module, rest[1:], folder=folder, root=folder)
            return
        if _is_script(script := folder / moved_text(word, here)):
            yield word, read_source(script.resolve(), rest, folder=folder)
            return


def _is_script(path: Path) -> bool:
    try:
        return path.suffix == ".py" and path.is_file()
    except (OSError, ValueError):  # a word that is no path
        return False


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
