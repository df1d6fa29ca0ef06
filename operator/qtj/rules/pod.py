"""Mistakes in pod templates and in metadata: fields and types first, then the rules that Kubernetes adds to them.

The rules are those that types of fields cannot express. Kubernetes refuses a pod that breaks one.

Source: `ValidatePodTemplateSpec`, `ValidatePodSpec` and `ValidateVolumes` in pkg/apis/core/validation/validation.go of
Kubernetes 1.34. Only their rules about names and duplicates are included. Of metadata: apimachinery 0.34,
`ValidateObjectMeta` and `ValidateAnnotations` (pkg/api/validation/objectmeta.go) and `ValidateLabels`
(pkg/apis/meta/v1/validation); `ValidateNamespaceName` is `NameIsDNSLabel`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qtj.local.objects import LONGEST_GRACE_SECONDS
from qtj.rules.container import broken_container, choice
from qtj.rules.mistakes import Mistake
from qtj.rules.models import shipped_models
from qtj.rules.names import dns_label, label_value, qualified_name

__all__ = ["broken_metadata", "broken_rules", "metadata_mistakes", "template_mistakes"]

_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_GRACE = "terminationGracePeriodSeconds"


_MOST_BYTES = 256 * 1024
"""`TotalAnnotationSizeLimitB`: the limit for all annotations of an object together, keys and values."""


def template_mistakes(template: Any) -> Iterator[Mistake]:
    """Yields what is wrong with a PodTemplateSpec: unknown fields, wrong types or, without these, broken rules."""
    found = list(shipped_models().mistakes(template, "V1PodTemplateSpec"))
    yield from found or broken_rules(template)


def metadata_mistakes(metadata: Any) -> Iterator[Mistake]:
    """Yields what is wrong with the metadata of any object: unknown fields, wrong types, and broken rules."""
    yield from shipped_models().mistakes(metadata, "V1ObjectMeta")
    yield from broken_metadata(metadata)


def broken_rules(template: Mapping[str, Any] | None) -> Iterator[Mistake]:
    """Yields the rules that a template breaks. Its fields must have the right types."""
    written = template or {}
    yield from (((("metadata"), *path), what) for path, what in broken_metadata(written.get("metadata")))
    yield from ((("spec", *path), what) for path, what in _of_pod(written.get("spec") or {}))


def _of_pod(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    yield from choice(spec, "dnsPolicy", _DNS_POLICIES)
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        yield ("dnsPolicy",), "with None, name servers have to be in dnsConfig.nameservers: write at least one"
    yield from ((("nodeSelector", *path), what) for path, what in _broken_labels(spec.get("nodeSelector")))
    if (grace := spec.get(_GRACE) or 0) > LONGEST_GRACE_SECONDS:
        yield (_GRACE,), f"this is {grace}, and the maximum is {LONGEST_GRACE_SECONDS}, which is ten years: lower it"
    volumes = spec.get("volumes") or ()
    yield from ((("volumes", *path), what) for path, what in _of_volumes(volumes))
    names = [volume.get("name") for volume in volumes]
    seen: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            if (name := container.get("name")) and name in seen:
                yield (field, index, "name"), f'two containers of the pod are called "{name}": rename one of them'
            seen.add(name)
            yield from (((field, index, *path), what) for path, what in broken_container(container, names))
            if spec.get("hostNetwork"):
                yield from (((field, index, *path), what) for path, what in _of_host_ports(container))


def _of_host_ports(container: Mapping[str, Any]) -> Iterator[Mistake]:
    for index, port in enumerate(container.get("ports") or ()):
        if port.get("hostPort") not in {None, 0, port.get("containerPort")}:
            yield ("ports", index, "hostPort"), "with hostNetwork, this has to be containerPort: remove it"


def _of_volumes(volumes: Sequence[Mapping[str, Any]]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name") or ""
        if name in seen:
            yield (index, "name"), f'two volumes of the pod are called "{name}": rename one of them'
        elif what := dns_label(name):
            yield (index, "name"), what
        seen.add(name)
        kinds = sorted(key for key, value in volume.items() if key != "name" and value is not None)
        if len(kinds) > 1:
            yield (index, kinds[1]), f"a volume has one kind, and this one has {' and '.join(kinds)}: keep one"


def broken_metadata(metadata: Any) -> Iterator[Mistake]:
    """Yields the rules that metadata breaks. Fields with a wrong type are skipped."""
    meta = metadata if isinstance(metadata, Mapping) else {}
    if isinstance(namespace := meta.get("namespace"), str) and (what := dns_label(namespace)):
        yield ("namespace",), what
    yield from ((("labels", *path), what) for path, what in _broken_labels(meta.get("labels")))
    annotations = _mapping(meta.get("annotations"))
    for key in annotations:
        if what := qualified_name(key.lower()):
            yield ("annotations", key), what
    size = sum(len(text.encode(errors="replace")) for each in annotations.items() for text in each if text)
    if size > _MOST_BYTES:
        yield ("annotations",), f"these have {size:,} bytes, and Kubernetes accepts {_MOST_BYTES:,}: shorten them"


def _broken_labels(labels: Any) -> Iterator[Mistake]:
    """Yields the rules that labels, or a selector of labels, break."""
    for key, value in _mapping(labels).items():
        if what := qualified_name(key) or label_value(value or ""):
            yield (key,), what


def _mapping(written: object) -> Mapping[str, str | None]:
    """Returns the entries whose values are text or empty."""
    entries = written.items() if isinstance(written, Mapping) else ()
    return {key: value for key, value in entries if isinstance(value, str | None)}
