"""What the next pass creates."""

from qtj_operator.core.decision import Create
from tests.core.world import World

__all__ = ["created"]


def created(world: World) -> list[str]:
    """Returns the kind and name of each child, in order: the next pass does nothing else."""
    actions = world.decide().actions
    assert all(isinstance(action, Create) for action in actions)
    manifests = [action.manifest for action in actions if isinstance(action, Create)]
    return [f"{manifest['kind']} {manifest['metadata']['name']}" for manifest in manifests]
