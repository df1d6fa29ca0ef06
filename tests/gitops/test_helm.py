"""What `helm install --wait` of Helm 3 does with a chart that has a job."""

import subprocess
from pathlib import Path

import yaml

from tests.gitops.application import job
from tests.missing import find_program
from tools.api_server import ApiServer
from tools.cluster.tools import HELM

SECONDS = 60


def test_helm_3_does_not_wait_for_a_job(api_server: ApiServer, namespace: str, tmp_path: Path) -> None:
    """Helm 4 reads kstatus; Helm 3 takes each kind that it does not know for ready."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "job.yaml").write_text(job())
    (tmp_path / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "jobs", "version": "1.0.0"}))
    helm, cluster = find_program(HELM, "helm"), f"--kubeconfig={api_server.kubeconfig}"
    argv = (helm, "install", "jobs", str(tmp_path), "--wait", f"--timeout={SECONDS}s", "-n", namespace, cluster)

    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=2 * SECONDS)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert api_server.get("qtj", "qcnn", "-n", namespace)["status"] == {"observedGeneration": -1}, "nothing has seen it"
