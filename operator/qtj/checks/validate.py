"""`qtj validate`: every mistake in every file, each with its line; and what asks for no GPU that it needs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from qtj.checks.job import check_file
from qtj.checks.study import study_of
from qtj.files.documents import Document, file_of, read_documents
from qtj.terminal.errors import InputError, map_or_raise
from qtj_operator.api.job import main_container
from qtj_operator.api.spec import EngineDevice

__all__ = ["asks_for_a_gpu", "validate_files", "validation_of"]


_VENDOR = "nvidia.com/"
"""Begins the names of GPUs as resources: nvidia.com/gpu, and nvidia.com/mig-... for a part of one."""


def validate_files(paths: Sequence[Path]) -> str:
    """Checks all files and returns a line for each job, and one for each warning.

    Raises:
        InputError: Something is wrong, one line for each mistake of all files.
    """
    return "\n".join(map_or_raise(_validated, paths))


def validation_of(path: Path) -> Mapping[str, Any]:
    """Returns, for programs, whether a file is valid, and its mistakes: a sentence each."""
    try:
        validate_files([path])
    except InputError as problem:
        return {"file": str(path), "valid": False, "mistakes": str(problem).splitlines()}
    return {"file": str(path), "valid": True, "mistakes": []}


def _validated(path: Path) -> str:
    read = read_documents(path)
    if study := study_of(read):
        line = f"{read.name}: {study.name} is valid, with {study.size_text}"
        return "\n".join([line, *_gpu_warnings(study.first_job())])
    file = file_of(read)
    check_file(file)
    lines = []
    for job in file.jobs:
        lines += [f"{file.name}: {job.manifest['metadata']['name']} is valid", *_gpu_warnings(job)]
    return "\n".join(lines)


def _gpu_warnings(document: Document) -> Iterator[str]:
    """Yields a line for each template whose circuits must be on a GPU, and whose main container asks for none."""
    spec = document.manifest["spec"]
    if (spec.get("circuit") or {}).get("engineDevice") != EngineDevice.GPU:
        return
    owned = [
        (f"replicaSpecs.{role}.template", (each or {}).get("template")) for role, each in spec["replicaSpecs"].items()
    ]
    used = {name if own else "template": own or spec["template"] for name, own in owned}
    for name, template in used.items():
        container = main_container(template["spec"]["containers"])
        if not asks_for_a_gpu(container):
            sentence = f"warning: it is gpu, and {container['name']} of spec.{name} asks for no GPU"
            yield document.error(["spec", "circuit", "engineDevice"], f"{sentence}: add limits {{nvidia.com/gpu: 1}}")


def asks_for_a_gpu(container: Mapping[str, Any]) -> bool:
    """Whether a container has a limit or a claim for a device; a claim may be for any."""
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    return bool(resources.get("claims")) or any(name.startswith(_VENDOR) for name in limits)
