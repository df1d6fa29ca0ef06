"""Who reaches the ports of jobs and of the operator with the policies that are installed by default, in a model."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj_operator.api.defaults import GRPC_PORT, METRICS_PORT, PROFILER_PORT, TENSORBOARD_PORT
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_ports
from qtj_operator.manifests.tensorboard import deployment_spec
from tests.jobs import a_job
from tests.manifests.network_model import Pod, allowed

FILES = Path(__file__).parents[2] / "deploy" / "helm" / "files"
HOME, TEAM = "qtj-system", "lab"
PORTS = (22, GRPC_PORT, PROFILER_PORT, METRICS_PORT, TENSORBOARD_PORT, 8080, 41234)
HTTP = 8080


def of_folder(folder: str, namespace: str) -> list[dict[str, Any]]:
    """The policies of a kustomization and its bases, in the namespace where they are applied."""
    here = FILES / folder
    found: list[dict[str, Any]] = []
    for name in yaml.safe_load((here / "kustomization.yaml").read_text())["resources"]:
        if (here / name).is_dir():
            found += of_folder(f"{folder}/{name}", namespace)
        else:
            objects = yaml.safe_load_all((here / name).read_text())
            found += [each for each in objects if each["kind"] == "NetworkPolicy"]
    return [{**policy, "metadata": {**policy["metadata"], "namespace": namespace}} for policy in found]


INSTALLED = [*of_folder("operator", HOME), *of_folder("network", HOME)]
"""What deploy/kustomize installs, and the chart."""
POLICIES = [*INSTALLED, *of_folder("job-namespace", TEAM)]
"""With deploy/network in a namespace with jobs, or the chart's `jobNamespaces`."""


def replica(name: str = "qcnn", namespace: str = TEAM) -> Pod:
    job = a_job(name=name)
    return Pod(namespace, replica_pod(job, next(iter(job.replicas())), 1)["metadata"]["labels"])


def inference(namespace: str = TEAM) -> Pod:
    job = a_job(inference={})
    assert job.spec.inference is not None
    return Pod(namespace, inference_job(job, job.spec.inference, None)["spec"]["template"]["metadata"]["labels"])


def board(namespace: str = TEAM, **fields: Any) -> Pod:
    job = a_job(tensorboard=fields)
    assert job.spec.tensorboard is not None
    template = deployment_spec(job, job.spec.tensorboard, "tensorboard:1")["template"]
    return Pod(namespace, template["metadata"]["labels"])


def operator(namespace: str = HOME) -> Pod:
    deployment = yaml.safe_load((FILES.parents[1] / "kustomize" / "deployment.yaml").read_text())
    return Pod(namespace, deployment["spec"]["template"]["metadata"]["labels"])


PROMETHEUS = Pod("monitoring", {"app": "prometheus"})
STRANGER = Pod("other", {"app": "shell"})
NEIGHBOUR = Pod(TEAM, {"app": "shell"})
PROXY = Pod(TEAM, {"quantumtraining.dev/tensorboard-client": "true"})


def reached(source: Pod, target: Pod, policies: list[dict[str, Any]] = POLICIES) -> set[int]:
    return {port for port in PORTS if allowed(policies, source, target, port)}


@pytest.mark.parametrize("source", [replica(), replica("another"), inference()])
def test_pods_of_jobs_of_a_namespace_reach_each_other_on_any_port(source: Pod) -> None:
    assert reached(source, replica()) == set(PORTS)
    assert set(replica_ports(a_job()).values()) <= set(PORTS)


@pytest.mark.parametrize("target", [replica(), inference()])
def test_from_outside_the_operator_reaches_progress_prometheus_metrics_and_nobody_else_anything(target: Pod) -> None:
    assert reached(operator(), target) == {METRICS_PORT}
    assert reached(PROMETHEUS, target) == {METRICS_PORT}
    assert reached(STRANGER, target) == set()
    assert reached(replica(namespace="other"), target) == set()
    assert reached(board("other"), target) == set()
    assert reached(operator("other"), target) == set(), "a pod that calls itself the operator"


def test_in_the_namespace_tensorboard_reaches_the_profiler_and_no_other_pod_anything() -> None:
    assert reached(board(), replica()) == {PROFILER_PORT}
    assert reached(NEIGHBOUR, replica()) == set()
    assert reached(PROXY, replica()) == set()


def test_only_a_proxy_reaches_a_tensorboard_unless_its_service_is_for_everybody() -> None:
    for source in (STRANGER, NEIGHBOUR, replica(), operator(), Pod("other", PROXY.labels)):
        assert reached(source, board()) == set()
        assert reached(source, board(serviceType="NodePort")) == {TENSORBOARD_PORT}
    assert reached(PROXY, board()) == {TENSORBOARD_PORT}


def test_only_prometheus_reaches_the_operator() -> None:
    assert reached(PROMETHEUS, operator()) == {HTTP}
    for source in (STRANGER, NEIGHBOUR, replica(), replica(namespace=HOME), operator()):
        assert reached(source, operator()) == set()


def test_an_operator_of_one_namespace_has_the_policies_for_its_jobs_by_default() -> None:
    there = replica(namespace=HOME)

    assert reached(operator(), there, INSTALLED) == {METRICS_PORT}
    assert reached(replica("another", HOME), there, INSTALLED) == set(PORTS)
    assert reached(STRANGER, there, INSTALLED) == set()


def test_a_namespace_without_policies_is_open() -> None:
    """Why the docs tell to apply them to each namespace with jobs: the operator has no right to."""
    assert reached(STRANGER, replica(), INSTALLED) == set(PORTS)
