"""Which volume of a pod holds a path."""

from pathlib import PurePosixPath

from qtj_operator.api.template import Container, Mount, PodSpec, Volume

__all__ = ["mount_at", "volume_of"]


def mount_at(path: PurePosixPath, main: Container) -> Mount | None:
    """Returns where the volume with `path` is mounted: of mounts within one another, the innermost; None without."""
    mounts = {PurePosixPath(mount.mount_path): mount for mount in main.volume_mounts}
    around = [folder for folder in mounts if path.is_relative_to(folder)]
    return mounts[max(around, key=lambda folder: len(folder.parts))] if around else None


def volume_of(mount: Mount, pod: PodSpec) -> Volume:
    """Returns the volume of a mount; if there is none, one of an unknown kind: the API server refuses it, and says so.

    Args:
        mount: Where it is mounted.
        pod: The pod.
    """
    unknown = Volume.model_validate({"name": str(mount.name), "unknown": {}})
    return next((volume for volume in pod.volumes if volume.name == mount.name), unknown)
