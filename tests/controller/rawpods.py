"""Pods as the API server returns them: `raw_pod(phase="Running", containerStatuses=[container(running={})])`."""

from typing import Any

__all__ = ["condition", "container", "raw_pod", "terminated"]


def raw_pod(
    *, name: str = "qcnn-worker-1", labels: dict[str, str] | None = None, sidecar: bool = False, **status: Any
) -> dict[str, Any]:
    containers = [{"name": "trainer", "image": "train:1"}]
    if sidecar:
        containers.insert(0, {"name": "proxy", "image": "proxy:1"})
    ours = {f"quantumtraining.dev/{key}": value for key, value in (labels or {}).items()}
    return {
        "metadata": {"name": name, "uid": "u", "resourceVersion": "7", "labels": ours},
        "spec": {"containers": containers},
        "status": status,
    }


def container(name: str = "trainer", *, image: str = "train:1", **state: Any) -> dict[str, Any]:
    return {"name": name, "image": image, "state": state}


def terminated(exit_code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    return {"exitCode": exit_code, "reason": reason, "message": message}


def condition(kind: str, status: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "message": message}
