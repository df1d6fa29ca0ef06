"""A change of the CRD that would break somebody's jobs is noticed."""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml

from tools.release.compatibility import CRD, breaks, incompatible, inequalities

Json = dict[str, Any]
OLD: Json = yaml.safe_load(CRD.read_text())


def changed(change: Callable[[Json], object], version: int = 0) -> list[str]:
    """What breaks after a change of the schema of a job's spec, in one version."""
    new = deepcopy(OLD)
    change(new["spec"]["versions"][version]["schema"]["openAPIV3Schema"]["properties"]["spec"])
    return breaks(OLD, new)


def qubits(spec: Json) -> Json:
    found: Json = spec["properties"]["circuit"]["properties"]["qubits"]
    return found


def container(spec: Json) -> Json:
    found: Json = spec["properties"]["template"]["properties"]["spec"]["properties"]["containers"]["items"]
    return found


def test_this_checkout_breaks_nothing_that_the_last_release_accepts() -> None:
    assert incompatible() == [], "CONTRIBUTING.md says what to do when that is meant"


def test_a_crd_is_compatible_with_itself() -> None:
    assert breaks(OLD, OLD) == []


def shorten(rule: Json) -> None:
    rule["rule"] = rule["rule"].partition(" || ")[2]


NARROWER: dict[str, tuple[Callable[[Json], object], str]] = {
    "a field is removed": (
        lambda spec: spec["properties"].pop("suspend"),
        ".suspend: it is gone",
    ),
    "a maximum is lowered": (
        lambda spec: qubits(spec).update(maximum=20),
        ".circuit.qubits: its maximum was 40 and is 20",
    ),
    "a minimum is raised": (
        lambda spec: qubits(spec).update(minimum=5),
        ".circuit.qubits: its minimum was 4 and is 5",
    ),
    "a length is bounded": (
        lambda spec: spec["properties"]["managedBy"].update(maxLength=3),
        ".managedBy: its maxLength was",
    ),
    "a type changes": (
        lambda spec: qubits(spec).update(type="string"),
        ".circuit.qubits: its type was integer and is string",
    ),
    "a value is no longer allowed": (
        lambda spec: spec["properties"]["strategy"]["enum"].remove("Mirrored"),
        ".strategy: Mirrored is no longer accepted",
    ),
    "an enum appears": (
        lambda spec: spec["properties"]["managedBy"].update(enum=["us"]),
        ".managedBy: any other value is no longer accepted",
    ),
    "a field becomes required": (
        lambda spec: spec["required"].append("circuit"),
        ".circuit: it was optional and is required",
    ),
    "a pattern appears": (
        lambda spec: spec["properties"]["managedBy"].update(pattern="^a"),
        ".managedBy: its pattern was None and is ^a",
    ),
    "an open object is closed": (
        lambda spec: container(spec).pop("x-kubernetes-preserve-unknown-fields"),
        ".template.spec.containers[]: it no longer has x-kubernetes-preserve-unknown-fields",
    ),
    "a field of an open object gets a schema": (
        lambda spec: container(spec)["properties"].update(tty={"type": "boolean"}),
        ".template.spec.containers[].tty: it took any value and has a schema",
    ),
    "a rule about a field is new": (
        lambda spec: spec["x-kubernetes-validations"].append(
            {"rule": "false", "message": "no", "fieldPath": ".circuit.qubits"}
        ),
        ": a rule is new or changed: no",
    ),
    "a rule is new": (
        lambda spec: spec["x-kubernetes-validations"].append({"rule": "false", "message": "no"}),
        ": a rule is new or changed: no",
    ),
    "a rule has one alternative less": (
        lambda spec: shorten(spec["x-kubernetes-validations"][0]),
        ": a rule is new or changed: runPolicy.schedulingPolicy cannot be changed while the job has pods",
    ),
    "a keyword appears that nobody judges": (
        lambda spec: qubits(spec).update(multipleOf=2),
        ".circuit.qubits: its multipleOf was None and is 2",
    ),
}


@pytest.mark.parametrize(("version", "number"), [("v1alpha1", 0), ("v1beta1", 1)])
@pytest.mark.parametrize("name", NARROWER)
def test_a_schema_that_accepts_less_is_incompatible(name: str, version: str, number: int) -> None:
    change, sentence = NARROWER[name]

    (broken,) = changed(change, number)

    assert broken.startswith(f"{version}.spec{sentence}")


def reorder(rule: Json) -> None:
    first, last = re.fullmatch(r"(\(.*?\)) \|\| (.*)", rule["rule"], re.DOTALL).groups()  # type: ignore[union-attr]
    rule["rule"] = f"{last} || {first}"


def widen(rule: Json) -> None:
    rule["rule"] = f"has(self.more) || {rule['rule']}"


WIDER: dict[str, Callable[[Json], object]] = {
    "a field is new": lambda spec: spec["properties"].update(color={"type": "string"}),
    "a new object has rules and required fields": lambda spec: spec["properties"].update(
        paint={"type": "object", "required": ["x"], "properties": {"x": {"type": "string", "maxLength": 1}}}
    ),
    "a maximum is raised": lambda spec: qubits(spec).update(maximum=50),
    "a minimum is gone": lambda spec: qubits(spec).pop("minimum"),
    "an integer may be a number": lambda spec: qubits(spec).update(type="number"),
    "a value is new": lambda spec: spec["properties"]["strategy"]["enum"].append("Ring"),
    "a field becomes optional": lambda spec: spec["required"].remove("artifacts"),
    "a rule about a new field": lambda spec: (
        spec["properties"].update(more={"type": "string"}),
        spec["x-kubernetes-validations"].append({"rule": "false", "message": "no", "fieldPath": ".more"}),
    ),
    "a rule is gone": lambda spec: spec["x-kubernetes-validations"].pop(),
    "alternatives of a rule change their places": lambda spec: reorder(spec["x-kubernetes-validations"][0]),
    "a rule has one alternative more": lambda spec: widen(spec["x-kubernetes-validations"][0]),
    "a description changes": lambda spec: spec.update(description="Other words."),
    "an object opens": lambda spec: spec.update({"x-kubernetes-preserve-unknown-fields": True}),
}


@pytest.mark.parametrize("name", WIDER)
def test_a_schema_that_accepts_more_is_compatible(name: str) -> None:
    assert changed(WIDER[name]) == []


RENAMED: dict[str, tuple[Callable[[Json], object], str]] = {
    "version gone": (lambda spec: spec["versions"].pop(), "version v1beta1 is gone"),
    "not served": (lambda spec: spec["versions"][0].update(served=False), "version v1alpha1 is no longer served"),
    "no status": (
        lambda spec: spec["versions"][0].update(subresources={}),
        "version v1alpha1 lost the subresource scale, status",
    ),
    "scope": (lambda spec: spec.update(scope="Cluster"), "the group or the scope is another"),
    "plural": (lambda spec: spec["names"].update(plural="jobs"), "names.plural was quantumtrainingjobs and is jobs"),
    "short name": (lambda spec: spec["names"].update(shortNames=["q"]), "names.shortNames was ['qtj'] and is ['q']"),
}


@pytest.mark.parametrize("name", RENAMED)
def test_a_resource_under_another_name_or_version_is_incompatible(name: str) -> None:
    change, sentence = RENAMED[name]
    new = deepcopy(OLD)
    change(new["spec"])

    assert breaks(OLD, new) == [sentence]


def test_a_version_beside_the_others_is_compatible() -> None:
    new = deepcopy(OLD)
    new["spec"]["versions"].append({**OLD["spec"]["versions"][1], "name": "v1"})

    assert breaks(OLD, new) == []


def with_stored(name: str, *versions: str) -> Json:
    """A CRD that serves these versions and stores one of them."""
    crd = deepcopy(OLD)
    schema = OLD["spec"]["versions"][0]
    crd["spec"]["versions"] = [{**schema, "name": each, "storage": each == name} for each in versions]
    return crd


def test_a_release_stores_only_what_the_one_before_serves() -> None:
    first, second = with_stored("v1alpha1", "v1alpha1"), with_stored("v1beta1", "v1alpha1", "v1beta1")

    assert breaks(first, second) == [
        "version v1beta1 is stored, which the last release does not serve: nobody could step back to it"
    ]
    assert breaks(OLD, second) == []


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("change", "keyword"),
    [
        (lambda version: qubits(spec_of(version)).update(maximum=50), "schema"),
        (lambda version: spec_of(version)["properties"].update(color={"type": "string"}), "schema"),
        (lambda version: version["additionalPrinterColumns"].pop(), "additionalPrinterColumns"),
        (lambda version: version.update(subresources={}), "subresources"),
        (lambda version: version.update(selectableFields=[]), "selectableFields"),
    ],
    ids=["wider", "a field more", "a column less", "no status", "a keyword more"],
)
def test_versions_that_are_not_equal_lose_something_at_a_conversion(
    number: int, change: Callable[[Json], object], keyword: str
) -> None:
    crd = deepcopy(OLD)
    change(crd["spec"]["versions"][number])

    assert inequalities(crd) == [f"{keyword} of v1beta1 is not that of v1alpha1"]


def spec_of(version: Json) -> Json:
    found: Json = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def test_a_conversion_by_a_webhook_is_not_what_is_checked_here() -> None:
    crd = deepcopy(OLD)
    crd["spec"]["conversion"] = {"strategy": "Webhook"}

    assert inequalities(crd) == ["the conversion is Webhook, and these checks are for None"]


def test_a_version_may_be_deprecated_before_another() -> None:
    crd = deepcopy(OLD)
    crd["spec"]["versions"][0] |= {"deprecated": True, "deprecationWarning": "write v1beta1"}

    assert (inequalities(crd), breaks(OLD, crd)) == ([], [])
