"""The chart on a real API server: installed, upgraded, rolled back and removed, with a job that runs through it all."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj_operator.api.names import API_VERSION
from tests.controller.operator_process import EXAMPLE, READY, SOON, WORKERS, Cluster, running
from tests.controller.test_install import may, of_kind
from tests.deploy.chart import CHART, DEPLOY, Helm, with_values_before
from tools.api_server import KUBECONFIG, OPERATOR, OPERATOR_TOKEN, ApiServer, Machine, Programs
from tools.background import wait_until
from tools.release.version import VERSION

QUANTUM = OPERATOR.split(":")[2]
EARLIER = "0.0.9"
ADDED = "retry"
"""A field of the spec that the earlier release of these tests does not have."""
_COUNT = itertools.count(1)


@pytest.fixture(scope="module")
def machine(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server of these tests alone, without the CRD."""
    with Machine(programs, tmp_path_factory.mktemp("apiserver")).started() as one:
        yield one


@pytest.fixture
def server(machine: ApiServer, helm: Helm) -> Iterator[ApiServer]:
    """That API server; afterwards it has no release and no CRD any more."""
    yield machine
    clean = replace(helm, kubeconfig=machine.kubeconfig)
    for release in json.loads(clean.do("list", "--all-namespaces", "--output=json")):
        clean.do("uninstall", release["name"], "--namespace", release["namespace"])
    crds = ("quantumtrainingjobs.quantumtraining.dev", "quantumtrainingstudies.quantumtraining.dev")
    machine.kubectl("delete", "crd", *crds, "--ignore-not-found")


@pytest.fixture
def namespace() -> str:
    """The name of a namespace that does not exist yet."""
    return f"team-{next(_COUNT)}"


@pytest.fixture
def installer(helm: Helm, server: ApiServer) -> Helm:
    """Helm with the rights of an administrator."""
    return replace(helm, kubeconfig=server.kubeconfig)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The chart as an earlier release, without the newest values, and a CRD without the newest field and version."""
    chart = with_values_before(tmp_path / "earlier")
    description = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump(description | {"version": EARLIER, "appVersion": EARLIER}))
    crd = yaml.safe_load((chart / "files/crd.yaml").read_text())
    crd["spec"]["versions"] = crd["spec"]["versions"][:1]
    del spec_of(crd["spec"]["versions"][0])[ADDED]
    (chart / "files/crd.yaml").write_text(yaml.safe_dump(crd))
    return chart


def knows(server: ApiServer, field: str) -> bool:
    """Whether a field is in the CRD, in all versions or in none."""
    versions = server.get("crd", "quantumtrainingjobs.quantumtraining.dev")["spec"]["versions"]
    (known,) = {field in spec_of(version) for version in versions}
    return known


def versions(server: ApiServer) -> tuple[list[str], list[str]]:
    """The versions that the CRD serves, and those that are stored."""
    crd = server.get("crd", "quantumtrainingjobs.quantumtraining.dev")
    return [each["name"] for each in crd["spec"]["versions"]], crd["status"]["storedVersions"]


def spec_of(version: dict[str, Any]) -> dict[str, Any]:
    """The fields of the spec in one version."""
    fields: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return fields


def image(server: ApiServer) -> str:
    pod = server.get("deployment", "qtj-operator", "-n", QUANTUM)["spec"]["template"]["spec"]
    return str(pod["containers"][0]["image"])


def uids(server: ApiServer, namespace: str) -> set[str]:
    return {one["metadata"]["uid"] for one in server.get("qtj,pods", "-n", namespace)["items"]}


def operator_of(namespace: str) -> str:
    return f"system:serviceaccount:{namespace}:qtj-operator"


def test_a_job_runs_through_an_upgrade_and_a_rollback(
    installer: Helm, server: ApiServer, earlier: Path, tmp_path: Path
) -> None:
    release = ("qtj-operator", "--namespace", QUANTUM)
    installer.do("install", *release, str(earlier), "--create-namespace")
    cluster = Cluster(server, QUANTUM)
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=server.url, token=OPERATOR_TOKEN))

    with running(replace(server, kubeconfig=kubeconfig), QUANTUM, tmp_path, f"--lease-namespace={QUANTUM}"):
        example = yaml.safe_load(EXAMPLE.read_text()) | {"apiVersion": API_VERSION}  # the earlier CRD has no other
        server.kubectl("apply", "-n", QUANTUM, "-f", "-", manifest=example)
        wait_until(cluster.has("pods", *WORKERS), SOON, "the pods")
        for worker in WORKERS:
            cluster.pod(worker, READY)
        wait_until(cluster.is_("Running"), SOON, "the job to run")
        before, status = uids(server, QUANTUM), cluster.status()
        assert not knows(server, ADDED)

        installer.do("upgrade", *release, str(CHART))
        assert knows(server, ADDED)
        assert versions(server) == (["v1alpha1", "v1beta1"], ["v1alpha1"])
        assert image(server) != f"localhost/qtj-operator:{EARLIER}"
        assert (uids(server, QUANTUM), cluster.status()) == (before, status)

        installer.do("rollback", "qtj-operator", "1", "--namespace", QUANTUM)
        assert not knows(server, ADDED)
        assert versions(server) == (["v1alpha1"], ["v1alpha1"])
        assert image(server) == f"localhost/qtj-operator:{EARLIER}"
        assert (uids(server, QUANTUM), cluster.status()) == (before, status)


def test_an_upgrade_may_keep_the_values_of_an_earlier_chart(
    installer: Helm, server: ApiServer, namespace: str, earlier: Path
) -> None:
    release = ("qtj-operator", "--namespace", namespace)
    installer.do("install", *release, str(earlier), "--create-namespace", values={"image": {"repository": "lab/qtj"}})

    for keep in ("--reuse-values", "--reset-then-reuse-values"):
        installer.do("upgrade", *release, str(CHART), keep)
        pod = server.get("deployment", "qtj-operator", "-n", namespace)["spec"]["template"]["spec"]
        assert pod["containers"][0]["image"] == f"lab/qtj:{VERSION}"
        assert f"--tensorboard-image=localhost/qtj-tensorboard:{VERSION}" in pod["containers"][0]["args"]


def test_an_uninstall_leaves_the_crd_and_its_jobs_and_the_next_install_takes_them(
    installer: Helm, server: ApiServer, namespace: str
) -> None:
    release = ("qtj-operator", "--namespace", namespace)
    installer.do("install", *release, str(CHART), "--create-namespace")
    wait_until(lambda: server.kubectl("get", "qtj", check=False).startswith("No resources"), SOON, "the CRD")
    server.kubectl("apply", "-n", namespace, "-f", str(EXAMPLE))
    before = uids(server, namespace)

    installer.do("uninstall", *release)
    assert uids(server, namespace) == before
    assert not may(server, operator_of(namespace), "create pods", namespace)

    installer.do("install", *release, str(CHART))
    assert uids(server, namespace) == before
    assert len(before) == 1
    assert may(server, operator_of(namespace), "create pods", namespace)


def test_what_kustomize_installed_becomes_a_release(installer: Helm, server: ApiServer) -> None:
    server.kubectl("apply", "-k", str(DEPLOY / "kustomize"))
    release = ("upgrade", "--install", "qtj-operator", str(CHART), "--namespace=qtj-system")
    before = server.get("deployment", "qtj-operator", "-n", "qtj-system")["metadata"]["uid"]

    assert "invalid ownership metadata" in installer.run(*release).stderr
    installer.do(*release, "--take-ownership")
    after = server.get("deployment", "qtj-operator", "-n", "qtj-system")["metadata"]
    assert (after["uid"], after["labels"]["app.kubernetes.io/managed-by"]) == (before, "Helm")


def test_the_release_of_one_namespace_needs_no_right_outside_of_it(
    installer: Helm, server: ApiServer, namespace: str
) -> None:
    server.kubectl("create", "namespace", namespace)
    words = ("install", "qtj-operator", str(CHART), f"--namespace={namespace}", "--kube-as-user=jane")
    own = ("--replace", "--set=scope=Namespace")

    for part in ("admin", "edit", "view"):  # `admin` is their sum, which no controller makes here
        role = ("--clusterrole", f"system:aggregate-to-{part}", "--user=jane", "-n", namespace)
        server.kubectl("create", "rolebinding", part, *role)
    assert "attempting to grant RBAC permissions not currently held" in installer.run(*words, *own).stderr
    server.kubectl("create", "rolebinding", "owner", "--clusterrole=cluster-admin", "--user=jane", "-n", namespace)
    assert "is forbidden" in installer.run(*words, "--replace").stderr, "the CRD is not jane's to install"
    installer.do(*words, *own)
    assert may(server, operator_of(namespace), "create pods", namespace)
    assert not may(server, operator_of(namespace), "create pods", "default")


def test_the_pods_of_the_operator_meet_the_restricted_standard(
    installer: Helm, server: ApiServer, namespace: str
) -> None:
    server.kubectl("create", "namespace", namespace)
    server.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    (deployment,) = of_kind(installer.render({}, namespace), "Deployment")
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"]["name"] = "operator"
    create = ("create", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", "-")

    assert "pod/operator created" in server.kubectl(*create, manifest=pod)
    pod["spec"]["containers"][0].pop("securityContext")
    assert "violates PodSecurity" in server.kubectl(*create, manifest=pod, check=False)


def test_the_api_server_takes_every_object_of_every_setting(installer: Helm, server: ApiServer, namespace: str) -> None:
    server.kubectl("create", "namespace", namespace)
    values = {
        "nodeReader": {"create": True},
        "priorityClass": {"name": "training-operator", "create": True},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "networkPolicy": {"jobNamespaces": [namespace]},
    }
    objects = {"apiVersion": "v1", "kind": "List", "items": installer.render(values, namespace)}

    words = ("apply", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", "-")
    assert server.kubectl(*words, manifest=objects).count("created (server dry run)") == len(objects["items"])


def test_monitoring_without_the_prometheus_operator_is_refused_before_anything_is_created(
    installer: Helm, server: ApiServer, namespace: str
) -> None:
    words = ("install", "qtj-operator", str(CHART), f"--namespace={namespace}", "--create-namespace")
    ended = installer.run(*words, "--set=monitoring.enabled=true")

    assert 'no matches for kind "ServiceMonitor"' in ended.stderr
    assert server.names("deployments", namespace) == []


def test_the_notes_say_what_to_do_next(installer: Helm, server: ApiServer) -> None:
    def notes(scope: str) -> str:
        words = ("install", "x", str(CHART), "--namespace=team-b", "--dry-run=client", f"--set=scope={scope}")
        return installer.do(*words).split("\nNOTES:\n")[1]

    assert server.names("deployments", "team-b") == []
    assert "kubectl -n team-b rollout status deployment/qtj-operator" in notes("Cluster")
    assert "`helm uninstall` removes the operator and keeps the CRD" in notes("Cluster")
    assert "kubectl apply -k crds" not in notes("Cluster")
    assert "kubectl apply -k crds" in notes("Namespace")
    assert "kubectl -n team-b get qtj" in notes("Namespace")
