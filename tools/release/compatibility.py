"""Whether a CustomResourceDefinition accepts every object that an earlier one accepted, and still has its fields.

What cannot be judged, such as a new CEL rule, counts as a break: a person decides (CONTRIBUTING.md says how).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tools.release.version import ROOT

Json = dict[str, Any]

CRD = ROOT / "crds" / "quantumtrainingjobs.quantumtraining.dev.yaml"
RELEASED = Path(__file__).with_name("released-crd.yaml")
"""A copy, and not the tag's: a clone need not have the tags. `make version` brings it up to date."""

_LEAST = {"minimum", "minLength", "minItems", "minProperties"}
_MOST = {"maximum", "maxLength", "maxItems", "maxProperties"}
_REMOVABLE = {"pattern", "format"}
"""Keywords that restrict: an object that was valid stays so without them."""
_OPENING = {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "nullable"}
"""Keywords that widen: with them, more is valid."""
_JUDGED = {"type", "enum", "required", "properties", "items", "additionalProperties", "x-kubernetes-validations"}
_HARMLESS = {"description", "title", "example", "externalDocs"}
_OF_A_VERSION = {"name", "served", "storage", "deprecated", "deprecationWarning"}
"""Keywords in which the versions of a CRD may differ."""
_KNOWN = _LEAST | _MOST | _REMOVABLE | _OPENING | _JUDGED | _HARMLESS


def incompatible() -> list[str]:
    """Returns what an upgrade from the last release to this checkout, or a step back, would break."""
    present = yaml.safe_load(CRD.read_text())
    return [*breaks(yaml.safe_load(RELEASED.read_text()), present), *inequalities(present)]


def breaks(old: Json, new: Json) -> list[str]:
    """Returns what an upgrade would break, one sentence each; empty when the new CRD is compatible.

    Args:
        old: The CRD of the last release.
        new: The CRD of this checkout.
    """
    return [*_identity(old["spec"], new["spec"]), *_versions(old["spec"], new["spec"])]


def inequalities(crd: Json) -> list[str]:
    """Returns how the versions of a CRD differ, one sentence each; empty when an object may be read in any of them.

    The API server converts without a webhook, so it only writes another apiVersion. A field that one version lacks is
    then lost without a message as soon as a client of that version writes the object.
    """
    first, *others = crd["spec"]["versions"]
    conversion = crd["spec"].get("conversion", {"strategy": "None"})["strategy"]
    webhook = [] if conversion == "None" else [f"the conversion is {conversion}, and these checks are for None"]
    return webhook + [
        f"{keyword} of {other['name']} is not that of {first['name']}"
        for other in others
        for keyword in sorted((first.keys() | other.keys()) - _OF_A_VERSION)
        if first.get(keyword) != other.get(keyword)
    ]


def _identity(old: Json, new: Json) -> Iterator[str]:
    if old["group"] != new["group"] or old["scope"] != new["scope"]:
        yield "the group or the scope is another"
    for name, value in old["names"].items():
        present = new["names"].get(name)
        if set(value) - set(present or ()) if isinstance(value, list) else value != present:
            yield f"names.{name} was {value} and is {present}"


def _versions(old: Json, new: Json) -> Iterator[str]:
    (stored,) = (version["name"] for version in new["versions"] if version["storage"])
    if stored not in {version["name"] for version in old["versions"] if version["served"]}:
        yield f"version {stored} is stored, which the last release does not serve: nobody could step back to it"
    present = {version["name"]: version for version in new["versions"]}
    for version in old["versions"]:
        name, now = version["name"], present.get(version["name"])
        if now is None:
            yield f"version {name} is gone"
            continue
        if version["served"] and not now["served"]:
            yield f"version {name} is no longer served"
        if gone := set(version.get("subresources", {})) - set(now.get("subresources", {})):
            yield f"version {name} lost the subresource {', '.join(sorted(gone))}"
        yield from _narrowed(name, version["schema"]["openAPIV3Schema"], now["schema"]["openAPIV3Schema"])


def _narrowed(path: str, old: Json, new: Json) -> Iterator[str]:
    """What the new schema refuses of what the old one accepted."""
    if old.get("type") != new.get("type") and (old.get("type"), new.get("type")) != ("integer", "number"):
        yield f"{path}: its type was {old.get('type')} and is {new.get('type')}"
    if "enum" in new and (lost := sorted(set(old.get("enum", ["any other value"])) - set(new["enum"]))):
        yield f"{path}: {', '.join(lost)} is no longer accepted"
    for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
        yield f"{path}.{name}: it was optional and is required"
    yield from _bounds(path, old, new)
    yield from _keywords(path, old, new)
    yield from _rules(path, old, new)
    yield from _children(path, old, new)


def _bounds(path: str, old: Json, new: Json) -> Iterator[str]:
    for keyword in sorted((_LEAST | _MOST) & new.keys()):
        tighter = keyword not in old or (
            new[keyword] > old[keyword] if keyword in _LEAST else new[keyword] < old[keyword]
        )
        if tighter:
            yield f"{path}: its {keyword} was {old.get(keyword, 'open')} and is {new[keyword]}"


def _keywords(path: str, old: Json, new: Json) -> Iterator[str]:
    for keyword in sorted(old.keys() | new.keys()):
        was, now = old.get(keyword), new.get(keyword)
        removed = keyword in _REMOVABLE and now is None
        if keyword == "default" and path.partition(".")[2] == "status":  # users do not write it
            continue
        if was != now and ((keyword in _REMOVABLE and not removed) or keyword not in _KNOWN):
            yield f"{path}: its {keyword} was {was} and is {now}"
        if keyword in _OPENING and was and not now:
            yield f"{path}: it no longer has {keyword}"


def _rules(path: str, old: Json, new: Json) -> Iterator[str]:
    known = [_alternatives(rule["rule"]) for rule in old.get("x-kubernetes-validations", ())]
    for rule in new.get("x-kubernetes-validations", ()):
        accepted = _alternatives(rule["rule"])
        if not any(before <= accepted for before in known) and _has(old, rule.get("fieldPath", "")):
            yield f"{path}: a rule is new or changed: {rule.get('message', rule['rule'])}"


def _alternatives(rule: str) -> frozenset[str]:
    """Returns what a rule accepts, in no order: the cheapest comes first, because it is evaluated first."""
    parts, depth = [""], 0
    for token in re.split(r"(\|\||[()])", rule):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "||" and not depth:
            parts.append("")
        else:
            parts[-1] += token
    return frozenset(part.strip() for part in parts)


def _has(schema: Json, path: str) -> bool:
    """Tells whether a schema has a field: a rule about a new field refuses nothing that was accepted before."""
    for name in path.split(".")[1:]:
        if name not in schema.get("properties", {}):
            return False
        schema = schema["properties"][name]
    return True


def _children(path: str, old: Json, new: Json) -> Iterator[str]:
    fields, present = old.get("properties", {}), new.get("properties", {})
    for name, field in fields.items():
        if name in present:
            yield from _narrowed(f"{path}.{name}", field, present[name])
        elif not new.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{path}.{name}: it is gone"
    if old.get("x-kubernetes-preserve-unknown-fields"):
        for name in sorted(present.keys() - fields.keys()):
            yield f"{path}.{name}: it took any value and has a schema"
    for keyword in ("items", "additionalProperties"):
        was, now = old.get(keyword), new.get(keyword)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from _narrowed(f"{path}[]", was, now)
        elif was and was != now:
            yield f"{path}: its {keyword} was {was} and is {now}"
