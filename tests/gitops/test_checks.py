"""The two commands with which docs/gitops.md checks an edit before it is merged: they refuse what Argo CD would try."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from tests.gitops.settings_file import FOLDER
from tests.missing import find_program
from tools.api_server import ApiServer
from tools.cluster.tools import KUBERNETES

Command = tuple[int, str]


@pytest.fixture(params=[8, 0], ids=["valid", "invalid"])
def qubits(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def jobs(tmp_path: Path, qubits: int) -> Path:
    """A copy of the example, on so many qubits."""
    copytree(FOLDER / "example", tmp_path / "jobs")
    job = tmp_path / "jobs" / "qcnn.yaml"
    job.write_text(job.read_text().replace("qubits: 8", f"qubits: {qubits}"))
    return job.parent


def run(*argv: str, given: str = "") -> Command:
    ended = subprocess.run(argv, input=given, capture_output=True, text=True, check=False, timeout=60)
    return ended.returncode, ended.stdout + ended.stderr


def test_qtj_validate_reads_what_kustomize_renders(jobs: Path, qubits: int) -> None:
    _, objects = run(find_program(KUBERNETES, "kubectl"), "kustomize", str(jobs))

    code, said = run(sys.executable, "-m", "qtj", "validate", "-f", "-", given=objects)

    assert (code == 0, "spec.circuit.qubits" in said) == ((True, False) if qubits else (False, True)), said


def test_a_dry_run_of_the_server_refuses_what_it_would_refuse(
    jobs: Path, qubits: int, api_server: ApiServer, namespace: str
) -> None:
    kubectl, cluster = find_program(KUBERNETES, "kubectl"), f"--kubeconfig={api_server.kubeconfig}"

    code, said = run(kubectl, cluster, "apply", "--dry-run=server", "-n", namespace, "-k", str(jobs))

    assert (code == 0, "spec.circuit.qubits" in said) == ((True, False) if qubits else (False, True)), said
    assert api_server.names("qtj", namespace) == []
