"""What `qtj doctor` says of a real API server; in a process of its own, for the library reads KUBECONFIG but once."""

import os
import subprocess
import sys

import pytest

from tools.api_server import TOKEN, ApiServer

ASK = "from qtj.doctor import cluster; {}; print(cluster.cluster())"
WANTS_OTHER_VERSIONS = "cluster.NEWEST_VERSION, cluster.VERSIONS = 'v9', ('v8', 'v9')"
WANTS_A_NEWER_VERSION = "cluster.NEWEST_VERSION, cluster.VERSIONS = 'v9', (*cluster.VERSIONS, 'v9')"
WANTS_A_FIELD_MORE = (
    "own = cluster.{crd}(); "
    "own['spec']['versions'][-1]['schema']['openAPIV3Schema']['properties']['spec']['properties']['colour'] = dict(); "
    "cluster.{crd} = lambda: own"
)
WANTS_STUDIES_OF_ANOTHER_NAME = (
    "own = cluster.study_crd(); own['spec']['names']['plural'] = 'others'; cluster.study_crd = lambda: own"
)


def said(kubeconfig: str, different: str = "pass") -> str:
    environment = {**os.environ, "KUBECONFIG": kubeconfig}
    asked = subprocess.run(
        [sys.executable, "-c", ASK.format(different)], env=environment, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 0, asked.stderr
    return asked.stdout.rstrip("\n")


def test_a_cluster_that_takes_jobs_is_fine(api_server: ApiServer) -> None:
    line = said(str(api_server.kubeconfig))

    assert line.startswith("ok       cluster     Kubernetes v1.")
    assert line.endswith(" with v1beta1 jobs, which you may create in default")


def test_a_cluster_without_the_definition_is_named_with_the_command_that_installs_it(api_server: ApiServer) -> None:
    line = said(str(api_server.kubeconfig), WANTS_OTHER_VERSIONS)

    assert line.startswith("warning  cluster     Kubernetes v1.")
    assert line.endswith(", without the CRD of QuantumTrainingJob: kubectl apply -k crds")


def test_a_definition_that_lacks_the_version_of_new_jobs_is_named(api_server: ApiServer) -> None:
    line = said(str(api_server.kubeconfig), WANTS_A_NEWER_VERSION)

    remedy = "kubectl apply -k crds"
    assert line.endswith(
        f", with the CRD of QuantumTrainingJob of an earlier release, which does not serve v9: {remedy}"
    )


def test_a_definition_of_an_older_release_is_named(api_server: ApiServer) -> None:
    line = said(str(api_server.kubeconfig), WANTS_A_FIELD_MORE.format(crd="crd"))

    assert line.startswith("warning  cluster     Kubernetes v1.")
    lacks = ", with the CRD of QuantumTrainingJob of another release, which lacks spec.colour: kubectl apply -k crds"
    assert line.endswith(lacks)


def test_a_definition_of_studies_of_an_older_release_is_named(api_server: ApiServer) -> None:
    line = said(str(api_server.kubeconfig), WANTS_A_FIELD_MORE.format(crd="study_crd"))

    lacks = ", with the CRD of QuantumTrainingStudy of another release, which lacks spec.colour: kubectl apply -k crds"
    assert line.endswith(lacks)


def test_a_cluster_without_studies_is_named(api_server: ApiServer) -> None:
    line = said(str(api_server.kubeconfig), WANTS_STUDIES_OF_ANOTHER_NAME)

    assert line.endswith(", without the CRD of QuantumTrainingStudy: kubectl apply -k crds")


@pytest.mark.parametrize(
    ("written", "replaced", "sentence"),
    [
        (f"token: {TOKEN}", "token: wrong", "the API server refuses (401 Unauthorized)"),
        ("current-context: test", "", "is no usable kubeconfig"),
        ("https://", "https://127.0.0.1:1/", "the API server cannot be reached"),
    ],
)
def test_a_kubeconfig_that_does_not_work_is_a_warning(
    api_server: ApiServer, written: str, replaced: str, sentence: str
) -> None:
    config = api_server.kubeconfig.with_name("broken")
    config.write_text(api_server.kubeconfig.read_text().replace(written, replaced))

    line = said(str(config))

    assert line.startswith("warning  cluster     ")
    assert sentence in line
