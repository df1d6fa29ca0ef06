"""What `deploy/` and the chart render is accepted by a real API server, and a mistake in it is not.

A dry run and not kubeconform: with the schemas of the same API server, kubeconform 0.7.0 finds the mistakes that are
`IN_THE_SCHEMA` and none of the others. It finds nothing that the dry run misses, and neither knows the objects of the
Prometheus operator.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy

import pytest
import yaml

from tests.controller.conftest import api_server
from tests.controller.test_install import of_kind
from tests.deploy.chart import DEPLOY, Helm, Json
from tools.api_server import ApiServer

__all__ = ["api_server"]

NAMESPACES = ("qtj-system", "quantum", *(f"team-{letter}" for letter in "abcde"))
UNKNOWN_KINDS = {"monitoring"}
"""Its objects are of the Prometheus operator, whose CRDs are not here."""


@pytest.fixture(scope="module")
def server(api_server: ApiServer) -> ApiServer:
    """The API server with the namespaces into which the kustomizations put objects."""
    for name in NAMESPACES:
        api_server.kubectl("create", "namespace", name)
    return api_server


def kustomizations() -> Sequence[str]:
    """The folders that `kubectl apply -k` takes; a component, and what the chart has of it, is part of another."""
    found = {path.parent for path in DEPLOY.rglob("kustomization.yaml") if "kind: Component" not in path.read_text()}
    named = {str(path.relative_to(DEPLOY)) for path in found if path.name not in UNKNOWN_KINDS}
    return sorted(name for name in named if not name.startswith("helm/files/"))


def dry_run(server: ApiServer, objects: Sequence[Json]) -> str:
    manifest = {"apiVersion": "v1", "kind": "List", "items": objects}
    words = ("apply", "--dry-run=server", "--validate=strict", "-f", "-")
    return server.kubectl(*words, manifest=manifest, check=False)


def accepted(answer: str) -> int:
    return sum(line.endswith("(server dry run)") for line in answer.splitlines())


@pytest.mark.parametrize("folder", kustomizations())
def test_the_api_server_accepts_what_kustomize_builds(server: ApiServer, folder: str) -> None:
    objects = list(yaml.safe_load_all(server.kubectl("kustomize", str(DEPLOY / folder))))

    answer = dry_run(server, objects)

    assert accepted(answer) == len(objects), answer


def container(deployment: Json) -> Json:
    found: Json = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


Change = Callable[[Json], object]

IN_THE_SCHEMA: dict[str, tuple[str, Change, str]] = {
    "unknown field": ("Deployment", lambda one: one["spec"].update(replica=2), 'unknown field "replica"'),
    "wrong type": ("Deployment", lambda one: one["spec"].update(replicas="two"), "invalid type"),
    "missing field": ("Deployment", lambda one: one["spec"].pop("selector"), 'missing required field "selector"'),
    "unknown kind": ("Deployment", lambda one: one.update(kind="Deploymint"), 'no matches for kind "Deploymint"'),
    "apiVersion that is gone": ("Deployment", lambda one: one.update(apiVersion="apps/v1beta1"), "no matches for kind"),
    "value that is not in the enum": (
        "Deployment",
        lambda one: container(one).update(imagePullPolicy="Sometimes"),
        'Unsupported value: "Sometimes"',
    ),
}
ONLY_AT_THE_SERVER: dict[str, tuple[str, Change, str]] = {
    "selector of other pods": (
        "Deployment",
        lambda one: one["spec"]["template"]["metadata"].update(labels={"a": "b"}),
        "`selector` does not match template `labels`",
    ),
    "port": ("Deployment", lambda one: container(one)["ports"][0].update(containerPort=70000), "between 1 and 65535"),
    "quantity": (
        "Deployment",
        lambda one: container(one)["resources"]["limits"].update(memory="512Mib"),
        "quantities must match",
    ),
    "request above the limit": (
        "Deployment",
        lambda one: container(one)["resources"]["requests"].update(memory="2Gi"),
        "must be less than or equal to memory limit",
    ),
    "mount without a volume": (
        "Deployment",
        lambda one: container(one).update(volumeMounts=[{"name": "nope", "mountPath": "/x"}]),
        'volumeMounts[0].name: Not found: "nope"',
    ),
    "label": ("Service", lambda one: one["metadata"].update(labels={"a": "b c"}), "a valid label must be"),
    "name": ("Service", lambda one: one["metadata"].update(name="Op_erator"), "a DNS-1035 label must consist of"),
    "rule of the CRD": (
        "CustomResourceDefinition",
        lambda one: schema(one)["x-kubernetes-validations"][0].update(rule="self.nope =="),
        "compilation failed",
    ),
}


def schema(crd: Json) -> Json:
    found: Json = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("mistake", [*IN_THE_SCHEMA, *ONLY_AT_THE_SERVER])
def test_a_mistake_is_refused(helm: Helm, server: ApiServer, mistake: str) -> None:
    kind, change, sentence = {**IN_THE_SCHEMA, **ONLY_AT_THE_SERVER}[mistake]
    good, *_ = of_kind(helm.render({}, "default"), kind)
    bad = deepcopy(good)
    change(bad)

    assert accepted(dry_run(server, [good])) == 1
    answer = dry_run(server, [bad])
    assert (accepted(answer), sentence in answer) == (0, True), answer
