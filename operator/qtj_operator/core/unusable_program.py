"""`spec.program` with a template that has no place for it: the API server would refuse its pods."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from qtj_operator.api.program import PROGRAM_FOLDER, PROGRAM_VOLUME
from qtj_operator.api.template import Container, PodSpec

__all__ = ["unusable_program"]


def unusable_program(pods: Iterable[tuple[str, PodSpec, Container]]) -> str | None:
    """Returns one sentence about the first template that has no place for the program; None if all have one.

    Args:
        pods: Where the main container is in the spec, its pod, and that container, with the program.
    """
    return next((problem for each in pods if (problem := _taken(*each))), None)


def _taken(where: str, pod: PodSpec, main: Container) -> str | None:
    if sum(volume.name == PROGRAM_VOLUME for volume in pod.volumes) > 1:
        return f"{where} is in a pod with a volume {PROGRAM_VOLUME}, as spec.program gets one: rename the volume"
    mounts = [mount for mount in main.volume_mounts if PurePosixPath(mount.mount_path).is_relative_to(PROGRAM_FOLDER)]
    if len(mounts) > 1:
        return f"{where} mounts {mounts[0].name} at {mounts[0].mount_path}, where spec.program is: mount it elsewhere"
    return None
