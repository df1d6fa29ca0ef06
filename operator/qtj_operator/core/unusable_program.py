"""`spec.program` with a template that has no place for it: the API server would refuse its pods."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from qtj_operator.api.program import PROGRAM_FOLDER, PROGRAM_VOLUME, Program
from qtj_operator.api.requirements import REQUIREMENTS_FOLDER, REQUIREMENTS_NAME, Requirements
from qtj_operator.api.template import Container, PodSpec

__all__ = ["unusable_program"]

_FIELD = "spec.program"


def unusable_program(program: Program, pods: Iterable[tuple[str, PodSpec, Container]]) -> str | None:
    """Returns one sentence about the first template that has no place for the program; None if all have one.

    Args:
        program: The program.
        pods: Where the main container is in the spec, its pod, and that container, with the program.
    """
    return next((problem for each in pods for problem in _problems(program.requirements, *each)), None)


def _problems(requirements: Requirements | None, where: str, pod: PodSpec, main: Container) -> Iterator[str]:
    yield from _taken(_FIELD, PROGRAM_VOLUME, PROGRAM_FOLDER, where, pod, main)
    if requirements is not None:
        field = f"{_FIELD}.requirements"
        yield from _taken(field, REQUIREMENTS_NAME, REQUIREMENTS_FOLDER, where, pod, main)
        yield from _not_installable(field, requirements, where, pod, main)


def _taken(field: str, volume: str, folder: str, where: str, pod: PodSpec, main: Container) -> Iterator[str]:
    if sum(each.name == volume for each in pod.volumes) > 1:
        yield f"{where} is in a pod with a volume {volume}, as {field} gets one: rename the volume"
    mounts = [mount for mount in main.volume_mounts if PurePosixPath(mount.mount_path).is_relative_to(folder)]
    if len(mounts) > 1:
        yield f"{where} mounts {mounts[0].name} at {mounts[0].mount_path}, where {field} is: mount it elsewhere"


def _not_installable(
    field: str, requirements: Requirements, where: str, pod: PodSpec, main: Container
) -> Iterator[str]:
    if sum(each.name == REQUIREMENTS_NAME for each in (*pod.init_containers, *pod.containers)) > 1:
        yield f"{where} is in a pod with a container {REQUIREMENTS_NAME}, as {field} gets one: rename the container"
    if requirements.cache and requirements.cache not in {each.name for each in pod.volumes}:
        yield f"{where} is in a pod without a volume {requirements.cache}, which {field}.cache names: add the volume"
    if any(each.name == "PYTHONPATH" and each.value_from for each in main.env):
        yield f"{where} takes PYTHONPATH from elsewhere, and {field} adds a folder to it: write its value"
