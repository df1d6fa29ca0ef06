"""What `qtj validate` says of a job whose circuits are for a GPU, and which asks for none."""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj.files.documents import Document
from qtj_operator.api.job import main_container
from qtj_operator.api.spec import EngineDevice

__all__ = ["asks_for_a_gpu", "gpu_warnings"]

_VENDOR = "nvidia.com/"
"""Begins the names of GPUs as resources: nvidia.com/gpu, and nvidia.com/mig-... for a part of one."""


def gpu_warnings(document: Document) -> Iterator[str]:
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
