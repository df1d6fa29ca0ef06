"""The health check for Argo CD, run by Argo CD from its ConfigMap."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gitops.settings_file import CASES, FOLDER
from tests.gitops.states import state
from tests.missing import find_program
from tools.cluster.tools import ARGOCD

pytestmark = pytest.mark.slow  # Argo CD takes long to build


def health(job: dict[str, Any], folder: Path) -> dict[str, str]:
    """Returns the health that Argo CD reports for an object, with our argocd-cm."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    words = ("admin", "settings", "resource-overrides", "health", file, "--argocd-cm-path", FOLDER / "argocd-cm.yaml")
    argv = (find_program(ARGOCD, "argocd"), *words)
    answer = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, env={"HOME": str(folder)})
    status, message = answer.stdout.strip().split("\n")
    return {"status": status.removeprefix("STATUS: "), "message": message.removeprefix("MESSAGE: ")}


@pytest.mark.parametrize("name", [name for name in CASES if name != "deleted"])
def test_argo_cd_reads_the_health_of_a_job_from_the_script(name: str, tmp_path: Path) -> None:
    assert health(state(name), tmp_path) == CASES[name]


def test_a_job_that_is_being_deleted_is_progressing_without_the_script(tmp_path: Path) -> None:
    assert health(state("deleted"), tmp_path)["status"] == CASES["deleted"]["status"]
