"""Folders as the kustomize that kubectl contains renders them."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.missing import find_program
from tools.cluster.tools import KUBERNETES

Objects = list[dict[str, Any]]


def rendered(folder: Path) -> Objects:
    """Returns what a folder becomes."""
    argv = (find_program(KUBERNETES, "kubectl"), "kustomize", str(folder))
    answer = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert not answer.returncode, answer.stderr
    return list(yaml.safe_load_all(answer.stdout))


def the_job(objects: Objects) -> dict[str, Any]:
    """Returns the only job of a folder."""
    (job,) = (each for each in objects if each["kind"] == "QuantumTrainingJob")
    return job


def names(objects: Objects, kind: str) -> set[str]:
    """Returns the names of all objects of a kind."""
    return {each["metadata"]["name"] for each in objects if each["kind"] == kind}
