"""A study with `qtj operator` as a process of its own and a real API server, whose pods the test ends."""

import time
from pathlib import Path
from typing import Any

import pytest

from qtj_contract import TerminationMessage, Weights
from tests.controller.conftest import STUDY_CRD, install_crd
from tests.controller.operator_process import READY, SOON, WORKERS, Cluster, Operator, running
from tests.controller.study_lab import mse_of, study_object
from tests.controller.test_study import FOUR, TABLE, table
from tools.api_server import ApiServer
from tools.background import wait_until

WEIGHTS = Weights(uri="gs://lab-bucket/w", sha256="ab" * 32)


def create(cluster: Cluster, **spec: Any) -> None:
    cluster.server.kubectl("create", "-f", "-", manifest=study_object(namespace=cluster.namespace, **spec))


def study(cluster: Cluster) -> dict[str, Any]:
    return cluster.server.get("qts", "rates", "-n", cluster.namespace)


def train(cluster: Cluster, name: str) -> None:
    """The worker of a trial runs, and ends with weights and an mse."""
    pod, namespace = f"{name}-worker-0", cluster.namespace
    wait_until(lambda: pod in cluster.server.names("pods", namespace), SOON, f"pod {pod}")
    measured = {"mse": mse_of(cluster.server.get("qtj", name, "-n", namespace))}
    cluster.pod(pod, READY)
    cluster.ends(pod, 0, TerminationMessage(weights=WEIGHTS, metrics=measured))


def is_complete(cluster: Cluster) -> bool:
    return bool(study(cluster)["status"].get("phase") == "Complete")


def test_two_rates_with_two_seeds_from_the_yaml_to_the_table(cluster: Cluster, operator: Operator) -> None:
    create(cluster, parallelism=2)
    for name in FOUR:
        train(cluster, name)
    wait_until(lambda: is_complete(cluster), SOON, "the study to be complete")

    assert table(study(cluster)["status"]) == TABLE
    printed = cluster.server.kubectl("get", "qts", "-n", cluster.namespace).split()
    assert printed[:6] == ["NAME", "PHASE", "REASON", "TRIALS", "BEST", "METRIC"]
    assert printed[7:13] == ["rates", "Complete", "TrialsDone", "4/4", "0.025", "mse"]
    cluster.server.kubectl("wait", "--for=condition=Complete", "qts/rates", "-n", cluster.namespace, "--timeout=5s")

    before = operator.writes()
    time.sleep(1)
    assert operator.writes() == before, "a study that has ended costs nothing"


@pytest.mark.slow
def test_an_operator_that_is_killed_leads_to_the_same_table(cluster: Cluster, tmp_path: Path) -> None:
    create(cluster, parallelism=1)
    for name in FOUR:
        with running(cluster.server, cluster.namespace, tmp_path) as operator:
            train(cluster, name)
            operator.process.kill()
    with running(cluster.server, cluster.namespace, tmp_path):
        wait_until(lambda: is_complete(cluster), SOON, "the study to be complete")

    assert table(study(cluster)["status"]) == TABLE
    assert cluster.server.names("qtj", cluster.namespace) == FOUR


def test_the_users_study_gets_a_status_and_nothing_else(cluster: Cluster, operator: Operator) -> None:
    assert operator.process.poll() is None
    create(cluster)
    wait_until(lambda: "rates-4" in cluster.server.names("qtj", cluster.namespace), SOON, "the jobs")

    found = study(cluster)

    wanted = study_object(namespace=cluster.namespace)
    assert found["spec"] == wanted["spec"]
    assert found["metadata"].keys().isdisjoint({"annotations", "labels", "finalizers"})


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"parameters": [{"name": "a"}]}, "must validate one and only one schema"),
        ({"parameters": [{"name": "a", "range": {"min": 2, "max": 1}}]}, "max has to be larger than min"),
        ({"parameters": [{"name": "a", "range": {"min": 0, "max": 1, "scale": "Log"}}]}, "a logarithm needs more"),
        ({"parameters": [{"name": "a", "range": {"min": 0.5, "max": 2, "integer": True}}]}, "whole numbers"),
        ({"parameters": [{"name": "a-b", "values": [1]}, {"name": "a_b", "values": [1]}]}, "the same option"),
        ({"parameters": [{"name": "seed", "values": [1]}]}, "remove seeds, or the parameter seed"),
        ({"search": {"algorithm": "Random"}}, "write spec.maxTrials"),
        ({"parameters": []}, "should have at least 1 items"),
    ],
)
def test_the_api_server_refuses_what_the_model_refuses(
    api_server: ApiServer, namespace: str, fields: dict[str, Any], sentence: str
) -> None:
    manifest = study_object(namespace=namespace, **fields)

    assert sentence in api_server.kubectl("create", "-f", "-", manifest=manifest, check=False)


def test_values_of_each_type_stay_as_they_are(api_server: ApiServer, namespace: str) -> None:
    values = [{"name": "a", "values": [1, 0.5, "adam", True]}]
    api_server.kubectl("create", "-f", "-", manifest=study_object(namespace=namespace, parameters=values))

    assert api_server.get("qts", "rates", "-n", namespace)["spec"]["parameters"] == values


@pytest.mark.slow
def test_without_the_crd_of_studies_jobs_run_and_one_line_says_so(
    api_server: ApiServer, namespace: str, tmp_path: Path
) -> None:
    cluster = Cluster(api_server, namespace)
    api_server.kubectl("delete", "-f", str(STUDY_CRD), "--wait=true")
    try:
        with running(api_server, namespace, tmp_path) as operator:
            cluster.apply_example()
            wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
            time.sleep(5)
            said = [each for each in operator.log.read_text().splitlines() if "quantumtrainingstudies" in each]
            install_crd(api_server)
            create(cluster)
            wait_until(lambda: "rates-4" in api_server.names("qtj", namespace), 60, "the study to run")
    finally:
        install_crd(api_server)

    assert len(said) == 1
    assert "the cluster does not know this kind, and jobs run all the same: kubectl apply -k crds" in said[0]


def test_explain_describes_a_study(api_server: ApiServer) -> None:
    explained = api_server.kubectl("explain", "qts.spec.objective")

    assert "What is compared" in explained
    assert "metric" in explained
