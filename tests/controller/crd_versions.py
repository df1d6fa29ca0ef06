"""CustomResourceDefinitions of other releases, and jobs in the versions of the API."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from qtj_operator.api.names import GROUP, NEWEST_VERSION, PLURAL, VERSION
from tests.controller.operator_process import SOON
from tools.api_server import ApiServer
from tools.background import wait_until
from tools.release.compatibility import CRD, RELEASED

__all__ = ["NAME", "crd_of", "earlier_crd", "install", "job_in", "next_crd", "resource", "stored_versions"]

NAME = f"{PLURAL}.{GROUP}"


def crd_of(path: Path = CRD) -> dict[str, Any]:
    """The CRD of this checkout."""
    read: dict[str, Any] = yaml.safe_load(path.read_text())
    return read


def earlier_crd() -> dict[str, Any]:
    """The CRD of the last release, as it was before there was a second version."""
    crd = crd_of(RELEASED)
    crd["spec"]["versions"] = [each for each in crd["spec"]["versions"] if each["name"] == VERSION]
    return crd


def next_crd(*, without_the_old: bool = False) -> dict[str, Any]:
    """The CRD of a later release, which stores the newest version, and may no longer have the old one."""
    crd = deepcopy(crd_of())
    for version in crd["spec"]["versions"]:
        version["storage"] = version["name"] == NEWEST_VERSION
    if without_the_old:
        crd["spec"]["versions"] = [each for each in crd["spec"]["versions"] if each["storage"]]
    return crd


def resource(version: str) -> str:
    """What kubectl calls the jobs in one version."""
    return f"{PLURAL}.{version}.{GROUP}"


def job_in(version: str, name: str = "qcnn", **spec: Any) -> dict[str, Any]:
    """A small job as a user writes it."""
    container = {"name": "trainer", "image": "registry.example/trainer:1"}
    fields = {
        "artifacts": {"uri": "gs://lab-bucket/qcnn"},
        "replicaSpecs": {"Worker": {"replicas": 1}},
        "template": {"spec": {"containers": [container]}},
        **spec,
    }
    kind = {"apiVersion": f"{GROUP}/{version}", "kind": "QuantumTrainingJob"}
    return {**kind, "metadata": {"name": name}, "spec": fields}


def install(server: ApiServer, crd: dict[str, Any]) -> None:
    """Applies a CRD, and waits until the API server serves exactly its versions."""
    server.kubectl("apply", "-f", "-", manifest=crd)
    wanted = {version["name"] for version in crd["spec"]["versions"]}

    def served() -> bool:
        words = server.kubectl("api-versions").split()
        return {word.partition("/")[2] for word in words if word.startswith(f"{GROUP}/")} == wanted

    wait_until(served, SOON, f"the API server to serve {wanted}")


def stored_versions(server: ApiServer) -> list[str]:
    """What the API server remembers to have stored."""
    stored: list[str] = server.get("crd", NAME)["status"]["storedVersions"]
    return stored
