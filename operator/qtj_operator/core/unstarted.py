"""What keeps a pod from starting."""

from qtj_operator.api.conditions import Reason
from qtj_operator.core.pod import Pod

__all__ = ["why_unstarted"]

_PULL = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
_STARTING = {"ContainerCreating", "PodInitializing"}


def why_unstarted(pod: Pod) -> tuple[Reason, str] | None:
    """Returns what keeps a pod from starting, with a sentence, if it is more than a matter of seconds."""
    if pod.gates:
        return Reason.QUEUED, f"{pod.name} waits to be admitted by its queue (scheduling gate {', '.join(pod.gates)})"
    if pod.unscheduled:
        return Reason.UNSCHEDULABLE, f"no node takes {pod.name}: {pod.unscheduled}"
    waiting = pod.waiting
    if waiting is None or waiting.reason in _STARTING:
        return None
    if waiting.reason in _PULL:
        return (
            Reason.IMAGE_NOT_PULLED,
            f'image "{waiting.image}" of {pod.name} cannot be pulled: check its name and whether the node may pull it',
        )
    return Reason.CONTAINER_NOT_STARTED, f"{pod.name} cannot start ({waiting.reason}): {waiting.message}"
