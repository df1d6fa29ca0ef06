"""What `deploy/` and the chart render is accepted by a real API server, and a mistake in it is not.

A dry run and not kubeconform: with the schemas of the same API server, kubeconform 0.7.0 finds the mistake in the
schema and neither of the others. It finds nothing that the dry run misses, and neither knows the objects of the
Prometheus operator.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy

import pytest

from tests.controller.conftest import api_server
from tests.controller.test_install import of_kind
from tests.deploy.chart import DEPLOY, Helm, Json, objects_in
from tools.api_server import ApiServer

__all__ = ["api_server"]

NAMESPACES = ("qtj-system", "quantum", *(f"team-{letter}" for letter in "abcde"))
UNKNOWN_KINDS = {"monitoring"}
"""Its objects are of the Prometheus operator, whose CRDs are not here."""


@pytest.fixture(scope="module")
def server(api_server: ApiServer) -> ApiServer:
    """The API server with the namespaces into which the kustomizations put objects."""
    api_server.ensure_namespaces(*NAMESPACES)
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
    objects = objects_in(server.kubectl("kustomize", str(DEPLOY / folder)))

    answer = dry_run(server, objects)

    assert accepted(answer) == len(objects), answer


Change = Callable[[Json], object]

MISTAKES: dict[str, tuple[str, Change, str]] = {
    "in the schema": ("Deployment", lambda one: one["spec"].update(replica=2), 'unknown field "replica"'),
    "in a selector": (
        "Deployment",
        lambda one: one["spec"]["template"]["metadata"].update(labels={"a": "b"}),
        "`selector` does not match template `labels`",
    ),
    "in a rule of the CRD": (
        "CustomResourceDefinition",
        lambda one: schema(one)["x-kubernetes-validations"][0].update(rule="self.nope =="),
        "compilation failed",
    ),
}


def schema(crd: Json) -> Json:
    found: Json = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused(helm: Helm, server: ApiServer, mistake: str) -> None:
    kind, change, sentence = MISTAKES[mistake]
    good, *_ = of_kind(helm.render({}, "default"), kind)
    bad = deepcopy(good)
    change(bad)

    assert accepted(dry_run(server, [good])) == 1
    answer = dry_run(server, [bad])
    assert (accepted(answer), sentence in answer) == (0, True), answer
