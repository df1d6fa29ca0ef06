"""`deploy/examples`: values of the chart and a kustomization that are the same, on a real API server."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.controller.operator_process import EXAMPLE, SOON, WORKERS, Cluster, running
from tests.controller.test_install import may, of_kind
from tests.deploy.chart import CHART, DEPLOY, Helm, Json, objects_in
from tests.deploy.test_chart_objects import assert_same
from tests.deploy.test_dry_run import accepted, dry_run
from tools.api_server import KUBECONFIG, OPERATOR, OPERATOR_TOKEN, ApiServer, Machine, Programs
from tools.background import wait_until

EXAMPLES = sorted(path.parent.name for path in DEPLOY.glob("examples/*/values.yaml"))
FIVE = "five-namespaces"
QUANTUM = OPERATOR.split(":")[2]
OF_THE_NAMESPACES = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "NetworkPolicy"}


@pytest.fixture(scope="module")
def server(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server of these tests alone, with the namespaces of the examples."""
    with Machine(programs, tmp_path_factory.mktemp("apiserver")).started() as one:
        for name in ("qtj-system", QUANTUM, *values(FIVE)["watchNamespace"]):
            one.kubectl("create", "namespace", name)
            one.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
        yield one


def values(example: str) -> Json:
    read: Json = yaml.safe_load(_file(example).read_text())
    return read


def kustomized(programs: Programs, example: str) -> list[Json]:
    command = (programs.kubectl, "kustomize", str(DEPLOY / "examples" / example))
    return objects_in(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_there_is_an_example_of_each_kind() -> None:
    assert EXAMPLES == [FIVE, "proxied", "restricted"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_kustomization_is_the_same_as_the_values(helm: Helm, programs: Programs, example: str) -> None:
    chart = helm.render(values(example))
    built = kustomized(programs, example)
    if example == FIVE:  # its bindings name the ClusterRole, and its policies are applied by deploy/network
        chart, built = ([each for each in some if each["kind"] not in OF_THE_NAMESPACES] for some in (chart, built))

    assert_same(chart, built, "qtj-system")


def test_the_bindings_of_the_kustomization_are_those_of_the_chart(helm: Helm, programs: Programs) -> None:
    def bound(objects: list[Json]) -> set[tuple[str, str]]:
        bindings = (each for each in of_kind(objects, "RoleBinding") if each["metadata"]["name"] == "qtj-operator")
        return {(each["metadata"]["namespace"], str(each["subjects"])) for each in bindings}

    built = kustomized(programs, FIVE)
    assert bound(built) == bound(helm.render(values(FIVE)))
    assert of_kind(built, "ClusterRoleBinding") == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_api_server_accepts_the_release_and_its_pod(helm: Helm, server: ApiServer, example: str) -> None:
    objects = helm.render(values(example))
    (deployment,) = of_kind(objects, "Deployment")
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] |= {"name": "operator", "namespace": "qtj-system"}
    for each in objects:  # as Helm does
        each["metadata"].setdefault("namespace", "qtj-system")

    answer = dry_run(server, [*objects, pod])

    assert accepted(answer) == len(objects) + 1, answer


def test_the_operator_of_five_namespaces_does_its_work_there_and_nowhere_else(
    helm: Helm, server: ApiServer, tmp_path: Path
) -> None:
    """Installed by Helm, and run with the arguments of its Deployment and the rights of its service account."""
    release = ("install", "qtj-operator", str(CHART), f"--namespace={QUANTUM}", f"--values={_file(FIVE)}")
    replace(helm, kubeconfig=server.kubeconfig).do(*release)
    (first, *others), lease = _scope(server), f"--lease-namespace={QUANTUM}"
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=server.url, token=OPERATOR_TOKEN))
    told = [f"--namespace={name}" for name in others]

    with running(replace(server, kubeconfig=kubeconfig), first, tmp_path, lease, *told) as operator:
        for name in (first, *others, "default"):
            server.kubectl("apply", "-n", name, "-f", str(EXAMPLE))
        for name in (first, *others):
            wait_until(Cluster(server, name).has("pods", *WORKERS), SOON, f"the pods in {name}")
        assert operator.process.poll() is None
    assert server.names("pods", "default") == []
    assert may(server, OPERATOR, "create pods", "team-e")
    assert not may(server, OPERATOR, "create pods", "default")
    assert not may(server, OPERATOR, "list quantumtrainingjobs", QUANTUM)


def _file(example: str) -> Path:
    return DEPLOY / "examples" / example / "values.yaml"


def _scope(server: ApiServer) -> list[str]:
    """The namespaces in the arguments of the operator that is installed."""
    pod = server.get("deployment", "qtj-operator", "-n", QUANTUM)["spec"]["template"]["spec"]
    args = pod["containers"][0]["args"]
    return [each.removeprefix("--namespace=") for each in args if each.startswith("--namespace=")]
