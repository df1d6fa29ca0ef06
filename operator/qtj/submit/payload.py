"""The files of a program that travel in a ConfigMap: its script, the modules beside it, and files that it names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from qtj.files.config_data import MOST_BYTES
from qtj.files.source import read_text
from qtj.rules.names import config_key
from qtj.script.program import Program
from qtj.terminal.errors import InputError
from qtj_contract.quantities import in_words

__all__ = ["Payload", "payload_of"]


@dataclass(frozen=True, slots=True)
class Payload:
    """What travels.

    Attributes:
        files: The files, by name.
        notes: A sentence for each file that the program names and that stays.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()


def payload_of(program: Program) -> Payload:
    """Returns what travels with a program.

    Raises:
        InputError: A module is in a folder, a file cannot be read, or all are too large.
    """
    code = {program.path.name, *program.source.code}
    for name in sorted(code):
        if config_key(name):
            raise InputError(
                f"{program.path.name} needs {name}, and only files beside it with a plain name can travel: move it "
                "there, or build an image"
            )
    data, notes = _named(program.source.data, program)
    files = {name: _read(program.folder / name) for name in sorted({*code, *data})}
    files = {**files, **_requirements(program, files)}
    _refuse_large(program, files)
    return Payload(files, tuple(notes))


def _named(names: Iterable[str], program: Program) -> tuple[list[str], list[str]]:
    """Returns the files of data that travel, and notes about others below the folder; the rest is the image's."""
    inside = [path for each in names if not (path := PurePosixPath(each)).is_absolute() and ".." not in path.parts]
    kept = [path.name for path in inside if _travels(path)]
    stay = [f"{path} is not sent: only files beside {program.path.name} are" for path in inside if not _travels(path)]
    return kept, stay


def _requirements(program: Program, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Returns the file with the packages that it needs, if one is named; it may be in any folder."""
    path = program.requirements
    if path is None:
        return {}
    content = read_text(path).encode()
    if files.get(path.name, content) != content:
        raise InputError(f"{path}: {program.path.name} has another file {path.name} beside it: rename one of them")
    return {path.name: content}


def _travels(path: PurePosixPath) -> bool:
    """Whether it is beside the program; a hidden file, such as .env, may have secrets."""
    return len(path.parts) == 1 and not path.name.startswith(".") and not config_key(path.name)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: it cannot be read ({problem.strerror})") from None


def _refuse_large(program: Program, files: Mapping[str, bytes]) -> None:
    total = sum(map(len, files.values()))
    if total > MOST_BYTES:
        largest = max(files, key=lambda name: len(files[name]))
        raise InputError(
            f"{program.path.name} and the files beside it that it names have {in_words(total)}, and a ConfigMap holds "
            f"{in_words(MOST_BYTES)}: {largest} alone has {in_words(len(files[largest]))}: read it from the bucket, "
            "or build an image"
        )
