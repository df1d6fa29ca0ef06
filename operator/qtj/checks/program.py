"""Mistakes in `spec.program` that only its ConfigMap shows, where it is in the same file."""

from collections.abc import Iterator

from qtj.files.documents import Document
from qtj_operator.api.program import Program

__all__ = ["program_mistakes"]

_ENTRY = ["spec", "program", "entry"]
_CONFIG_MAP = ["spec", "program", "configMap"]


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
    files = document.data.get(("ConfigMap", program.config_map))
    if files is None and here:
        yield document.error(_CONFIG_MAP, _not_in_the_file(program))
    elif files is not None and program.entry not in files:
        has = f"which has {', '.join(sorted(files))}" if files else "which is empty"
        yield document.error(_ENTRY, f"there is no {program.entry} in the ConfigMap {program.config_map}, {has}")


def _not_in_the_file(program: Program) -> str:
    make = f"kubectl create configmap {program.config_map} --from-file={program.entry} --dry-run=client -o yaml"
    return (
        "this ConfigMap is not in the file, and on this machine there is no other: add it, as the output of "
        f"`{make}`, after a line with ---"
    )
