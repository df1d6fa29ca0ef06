"""Mistakes in `spec.program` that only its ConfigMap shows, where it is in the same file."""

from collections.abc import Iterator, Mapping

from qtj.files.documents import Document
from qtj.script.program import other_files, requirements_in
from qtj_operator.api.program import Program
from qtj_operator.api.requirements import Requirements

__all__ = ["program_mistakes"]

_ENTRY = ["spec", "program", "entry"]
_CONFIG_MAP = ["spec", "program", "configMap"]
_FILE = ["spec", "program", "requirements", "file"]


def program_mistakes(document: Document, *, here: bool) -> Iterator[str]:
    """Yields a line about what the program lacks.

    Args:
        document: A job that its models accept.
        here: Whether it is to run on this machine, which has no ConfigMaps but those of the file.
    """
    written = document.manifest["spec"].get("program")
    if not written:
        return
    program = Program.read(written)
    data = document.data.get(("ConfigMap", program.config_map))
    if data is None and here:
        yield document.error(_CONFIG_MAP, _not_in_the_file(program))
    if data is None:
        return
    for number, field, wrong in _item_mistakes(program, data, here=here):
        yield document.error(["spec", "program", "items", number, field], wrong)
    files = program.files(data)
    if program.entry not in files and not program.items:
        yield document.error(_ENTRY, _not_in_the_map(program.entry, program, files))
    if program.requirements and (name := program.requirements.file):
        if name not in files:
            yield document.error(_FILE, _not_in_the_map(name, program, files))
        elif what := _uninstallable(program.requirements, name, files):
            yield document.error(_FILE, what)


def _item_mistakes(program: Program, data: Mapping[str, str], *, here: bool) -> Iterator[tuple[int, str, str]]:
    """Yields the number of an item, the field that is wrong, and what is wrong."""
    paths: list[str] = []
    for number, item in enumerate(program.items or ()):
        # On a cluster, it may be in binaryData, which this machine does not read.
        if item.key not in data and (here or item.path.endswith(".py")):
            yield number, "key", _not_in_the_map(item.key, program, data)
        if item.path in paths:
            yield number, "path", f"two items have the path {item.path}: each file needs its own"
        elif other := next((each for each in paths if _is_below(item.path, each) or _is_below(each, item.path)), None):
            yield number, "path", f"{item.path} and {other} cannot both be there: one is a folder for the other"
        paths.append(item.path)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _not_in_the_map(name: str, program: Program, files: Mapping[str, str]) -> str:
    has = f"which has {', '.join(sorted(files))}" if files else "which is empty"
    return f"there is no {name} in the ConfigMap {program.config_map}, {has}"


def _uninstallable(requirements: Requirements, name: str, files: Mapping[str, str]) -> str | None:
    """Returns why pip would refuse a file of requirements in each pod; None if nothing shows that."""
    absent = [each for each in other_files(files[name]) if each not in files and "://" not in each]
    if absent:
        return f"{name} names the file {absent[0]}, which the ConfigMap lacks: write its lines into {name}"
    bare = [each.text for each in requirements_in(files[name]) if not each.has_hash]
    if not (bare and requirements.needs_hashes):
        return None
    return (
        f"{bare[0]} in {name} has no --hash=: add hashes to all packages and to what they need, as `uv pip compile "
        "--generate-hashes` does, or set hashes to Optional"
    )


def _not_in_the_file(program: Program) -> str:
    make = f"kubectl create configmap {program.config_map} --from-file={program.entry} --dry-run=client -o yaml"
    return (
        "this ConfigMap is not in the file, and on this machine there is no other: add it, as the output of "
        f"`{make}`, after a line with ---"
    )
