"""`qtj operator` that cannot run ends with one sentence that says what to do."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from qtj_operator.api.platform_settings import SettingsError
from qtj_operator.cluster.job_settings import read_job_settings
from tests.controller.conftest import install_crd
from tests.controller.operator_process import ended, environment
from tools.api_server import KUBECONFIG, ApiServer
from tools.background import free_port


def test_an_error_that_ends_it_is_a_json_line_too(tmp_path: Path) -> None:
    code, said = ended("operator", "--port=0", "--log-format=json", env=environment(tmp_path))

    last = json.loads(said.splitlines()[-1])
    assert code == 1
    assert last["level"] == "CRITICAL"
    assert datetime.fromisoformat(last["time"]).utcoffset() == timedelta(0)
    assert (
        last["message"]
        == "no cluster can be reached: there is no file ~/.kube/config; set KUBECONFIG to your kubeconfig"
    )


def test_a_label_that_must_not_be_copied_is_a_mistake_in_its_options(tmp_path: Path) -> None:
    code, said = ended("operator", "--copy-label=kueue.x-k8s.io/queue-name", env=environment(tmp_path))

    assert code == 2
    assert said.startswith(
        "qtj: argument --copy-label: kueue.x-k8s.io/queue-name is not copied, because controllers act"
    )
    assert said.count("\n") == 1


def test_a_mistake_in_the_settings_of_jobs_ends_it_before_it_asks_the_cluster(tmp_path: Path) -> None:
    absent = tmp_path / "jobs.yaml"

    code, said = ended("operator", "--port=0", f"--job-settings={absent}", env=environment(tmp_path))

    assert (code, said) == (2, f"qtj: {absent} cannot be used: No such file or directory\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("defaults: {backofLimit: 2}", "defaults.backofLimit: there is no such field"),
        ("defaults: {", "line 1 is no YAML: expected the node content, but found '<stream end>'"),
        ("\x00", "it is no YAML in UTF-8"),
    ],
    ids=["field", "YAML", "bytes"],
)
def test_what_is_wrong_in_the_settings_of_jobs_is_said_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(text)

    with pytest.raises(SettingsError) as wrong:
        read_job_settings(str(file))

    assert str(wrong.value) == f"{file} cannot be used: {problem}"


def test_without_a_crd_it_says_how_to_install_it(api_server: ApiServer, tmp_path: Path) -> None:
    api_server.kubectl("delete", "crd", "quantumtrainingjobs.quantumtraining.dev")
    try:
        code, said = ended("operator", "--port=0", env=environment(tmp_path, KUBECONFIG=str(api_server.kubeconfig)))
    finally:
        install_crd(api_server)

    assert code == 1
    assert said == "qtj: the cluster has no quantumtraining.dev/v1alpha1: kubectl apply -f crds/\n"


def test_without_a_cluster_it_says_what_to_set(tmp_path: Path) -> None:
    code, said = ended("operator", "--port=0", env=environment(tmp_path))

    assert code == 1
    assert (
        said == "qtj: no cluster can be reached: there is no file ~/.kube/config; set KUBECONFIG to your kubeconfig\n"
    )


def test_a_kubeconfig_that_is_none_is_named(tmp_path: Path) -> None:
    nonsense = tmp_path / "kubeconfig"
    nonsense.write_text("clusters: [")

    code, said = ended("operator", "--port=0", env=environment(tmp_path, KUBECONFIG=str(nonsense)))

    assert code == 1
    assert said.startswith(f"qtj: no cluster can be reached: {nonsense} is no usable kubeconfig (")
    assert said.count("\n") == 1


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    lost = tmp_path / "kubeconfig"
    lost.write_text(KUBECONFIG.format(url=f"https://127.0.0.1:{free_port()}", token="any"))

    code, said = ended("operator", "--port=0", env=environment(tmp_path, KUBECONFIG=str(lost)))

    assert code == 1
    assert said.startswith("qtj: the API server cannot be reached: ")
    assert said.count("\n") == 1


def test_a_port_that_is_taken_is_named(api_server: ApiServer, tmp_path: Path) -> None:
    taken = api_server.url.rpartition(":")[2]

    code, said = ended("operator", f"--port={taken}", env=environment(tmp_path, KUBECONFIG=str(api_server.kubeconfig)))

    assert code == 1
    assert said == f"qtj: port {taken} cannot be opened: Address already in use; choose another with --port\n"
