"""The files of a program that travel in a ConfigMap: its script, the modules it imports, and files that it names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath

from qtj.files.config_data import MOST_BYTES
from qtj.files.documents import read_text
from qtj.rules.names import config_key
from qtj.script.objects import key_of
from qtj.script.program import Program
from qtj.terminal.errors import InputError
from qtj_contract.quantities import in_words
from qtj_operator.api.program import MOST_FILES

__all__ = ["Payload", "elsewhere", "payload_of"]

_COPY = "copy that file into the folder of the program if it may be sent"


@dataclass(frozen=True, slots=True)
class Payload:
    """What travels.

    Attributes:
        files: The files, by their paths from the folder of the program.
        notes: A sentence for each file that the program names and that stays.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()


def payload_of(program: Program) -> Payload:
    """Returns what travels with a program.

    Raises:
        InputError: A module is a link to elsewhere, a file cannot be read, or all are too many or too large.
    """
    script = program.path.name
    if config_key(script):
        rule = "a ConfigMap takes names of letters, digits, -, _ and dots only, so rename it"
        raise InputError(f"{script} cannot be sent: {rule}")
    code = {script, *program.source.code}
    for name in sorted(code - {script}):
        if target := elsewhere(program.folder, name):
            raise InputError(f"{script} needs {name}, which is a link to {target}: {_COPY}")
    data, notes = _named(program.source.data, program)
    files = {name: _read(program.folder / name) for name in sorted({*code, *data})}
    files = {**files, **_requirements(program, files)}
    _refuse_many(program, files)
    _refuse_large(program, files)
    _refuse_one_key(files)
    return Payload(files, tuple(notes))


def _named(names: Iterable[str], program: Program) -> tuple[list[str], list[str]]:
    """Returns the files of data that travel, and notes about others."""
    paths = [*map(PurePosixPath, names)]
    links = {str(path): elsewhere(program.folder, path) for path in paths if _travels(path)}
    stay = [f"{path} is not sent: {_why_not(path, program)}" for path in paths if not _travels(path)]
    led = [f"{name} is not sent: it is a link to {target}: {_COPY}" for name, target in links.items() if target]
    return [name for name, target in links.items() if not target], [*stay, *led]


def elsewhere(folder: Path, name: str | PurePath) -> Path | None:
    """Returns where a link leads to that leaves its folder, or names a hidden file; None for any other file.

    Who wrote the program has made the link. The program runs on the cluster, and shall read no other file of its user.

    Args:
        folder: The folder of the program.
        name: The file, relative to it.
    """
    root, target = folder.resolve(), (folder / name).resolve()
    if target == root / name:
        return None
    inside = target.is_relative_to(root) and not any(part.startswith(".") for part in target.relative_to(root).parts)
    return None if inside else target


def _why_not(path: PurePosixPath, program: Program) -> str:
    if path.is_absolute():
        return "it is a file of this machine, and in a pod the image or a volume has to have it"
    where = f"only files beside {program.path.name} and in folders there are"
    return f"{where}, and none that is hidden" if ".." not in path.parts else where


def _requirements(program: Program, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Returns the file with the packages that it needs, if one is named; it may be in any folder."""
    path = program.requirements
    if path is None:
        return {}
    if target := elsewhere(path.absolute().parent, path.name):
        raise InputError(f"{path} is a link to {target}: {_COPY}")
    content = read_text(path).encode()
    if files.get(path.name, content) != content:
        raise InputError(f"{path}: {program.path.name} has another file {path.name} beside it: rename one of them")
    return {path.name: content}


def _travels(path: PurePosixPath) -> bool:
    """Whether it is below the folder of the program; a hidden file, such as .env, may have secrets."""
    return not path.is_absolute() and not any(part.startswith(".") for part in path.parts)


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
            f"{program.path.name} and the files that it names have {in_words(total)}, and a ConfigMap holds "
            f"{in_words(MOST_BYTES)}: {largest} alone has {in_words(len(files[largest]))}: read it from the bucket, "
            "or build an image"
        )


def _refuse_many(program: Program, files: Mapping[str, bytes]) -> None:
    if len(files) > MOST_FILES:
        what = f"{program.path.name} and the files that it names are {len(files)} files, and {MOST_FILES} may travel"
        raise InputError(f"{what}: put data into one file or a bucket, or build an image")


def _refuse_one_key(files: Mapping[str, bytes]) -> None:
    """Refuses two files that a ConfigMap cannot tell apart, as a_b.py and a/b.py."""
    paths: dict[str, str] = {}
    for path in files:
        if (other := paths.setdefault(key_of(path), path)) != path:
            raise InputError(f"{other} and {path} have the same key in a ConfigMap, {key_of(path)}: rename one of them")
