"""Mistakes in pod templates and in metadata: fields and types first, then the rules that Kubernetes adds to them.

The rules are those that types of fields cannot express. Kubernetes refuses a pod that breaks one.

Source: `ValidatePodTemplateSpec`, `ValidatePodSpec` and `ValidateVolumes` in pkg/apis/core/validation/validation.go of
Kubernetes 1.34, of which only the rules about names and duplicates are included; `validateContainerCommon`,
`validateContainerPorts`, `ValidateSecurityContext`, `ValidateEnv`, `ValidateEnvFrom` and `ValidateVolumeMounts` there.

Source for metadata: apimachinery 0.34, `ValidateObjectMeta` and `ValidateAnnotations` in
pkg/api/validation/objectmeta.go, and `ValidateLabels` in pkg/apis/meta/v1/validation; `ValidateNamespaceName` is
`NameIsDNSLabel`.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from qtj.local.objects import LONGEST_GRACE_SECONDS
from qtj.rules.mistakes import Mistake
from qtj.rules.models import shipped_models
from qtj.rules.names import dns_label, env_name, image_name, label_value, port_name, qualified_name
from qtj_contract.quantities import amount_of
from qtj_operator.api.reading import MISSING, one_of
from qtj_operator.api.spelling import meant

__all__ = [
    "broken_container",
    "broken_metadata",
    "broken_resources",
    "broken_rules",
    "choice",
    "metadata_mistakes",
    "template_mistakes",
]

_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_GRACE = "terminationGracePeriodSeconds"


_MOST_BYTES = 256 * 1024
"""`TotalAnnotationSizeLimitB`: the limit for all annotations of an object together, keys and values."""


_PORTS = range(1, 65_536)
_NO_NUL = "this has a NUL character, which cannot be passed to a program: remove it"
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ENV_FROM_SOURCES = ("configMapRef", "secretRef")
Container = Mapping[str, Any]
_RESOURCES = ("cpu", "memory", "ephemeral-storage")


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


def broken_container(container: Container, volumes: Sequence[str | None]) -> Iterator[Mistake]:
    """Yields the rules that a container breaks. Its fields must have the right types.

    Args:
        container: The container.
        volumes: Names of the pod's volumes.
    """
    name, image = container.get("name") or "", container.get("image") or ""
    if name and (what := dns_label(name)):
        yield ("name",), what
    if image != image.strip():
        yield ("image",), "the name of an image must not begin or end with a space: remove it"
    elif image and (what := image_name(image)):
        yield ("image",), what
    yield from _of_security(container.get("securityContext") or {})
    yield from choice(container, "imagePullPolicy", ("Always", "IfNotPresent", "Never"))
    yield from choice(container, "terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    for field in ("command", "args"):
        yield from (((field, i), _NO_NUL) for i, word in enumerate(container.get(field) or ()) if "\0" in (word or ""))
    yield from _within("ports", _of_ports(container.get("ports") or ()))
    for field, rule in (("env", _of_variable), ("envFrom", _of_source)):
        for index, each in enumerate(container.get(field) or ()):
            yield from (((field, index, *path), what) for path, what in rule(each))
    yield from _within("volumeMounts", _of_mounts(container.get("volumeMounts") or (), volumes))
    yield from _within("resources", broken_resources(container.get("resources") or {}))


def choice(where: Mapping[str, Any], field: str, allowed: Sequence[str]) -> Iterator[Mistake]:
    """Yields a mistake if a field has a value that is not allowed."""
    value = where.get(field)
    if value and value not in allowed:
        yield (field,), one_of(allowed, value)


def _of_security(context: Mapping[str, Any]) -> Iterator[Mistake]:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    path = ("securityContext", "allowPrivilegeEscalation")
    if context.get("privileged"):
        yield path, "this is false, and privileged is true, which Kubernetes refuses: remove one of them"
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        yield path, "this is false, and CAP_SYS_ADMIN is added, which Kubernetes refuses: remove one of them"


def _within(field: str, found: Iterator[Mistake]) -> Iterator[Mistake]:
    yield from (((field, *path), what) for path, what in found)


def _of_ports(ports: Sequence[Mapping[str, Any]]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        name, number = port.get("name") or "", port.get("containerPort")
        if name in seen:
            yield (index, "name"), f'two ports of the container are called "{name}": rename one of them'
        elif name and (what := port_name(name)):
            yield (index, "name"), what
        seen |= {name} - {""}
        if number is None:
            yield (index, "containerPort"), MISSING
        for field in ("containerPort", "hostPort"):
            if port.get(field) not in {None, *((0,) if field == "hostPort" else ())} and port[field] not in _PORTS:
                yield (index, field), f"a port must be between 1 and 65535, and this is {port[field]}"
        for path, what in choice(port, "protocol", ("TCP", "UDP", "SCTP")):
            yield (index, *path), what


def _of_variable(variable: Mapping[str, Any]) -> Iterator[Mistake]:
    if (name := variable.get("name")) is not None and (what := env_name(name)):
        yield ("name",), what
    if "\0" in (variable.get("value") or ""):
        yield ("value",), _NO_NUL
    source = variable.get("valueFrom")
    if source is None:
        return
    if variable.get("value"):
        yield ("valueFrom",), "a variable has either value or valueFrom: remove one of them"
    yield from _within("valueFrom", _of_one(source, _ENV_SOURCES))
    for field in ("configMapKeyRef", "secretKeyRef"):
        if source.get(field) is not None:
            yield from _within("valueFrom", _named(source[field], field, "name", "key"))


def _of_source(source: Mapping[str, Any]) -> Iterator[Mistake]:
    if (prefix := source.get("prefix")) and (what := env_name(prefix)):
        yield ("prefix",), what
    yield from _of_one(source, _ENV_FROM_SOURCES)
    for field in _ENV_FROM_SOURCES:
        if source.get(field) is not None:
            yield from _named(source[field], field, "name")


def _of_one(source: Mapping[str, Any], kinds: Sequence[str]) -> Iterator[Mistake]:
    named = [kind for kind in kinds if source.get(kind) is not None]
    if len(named) != 1:
        yield (), f"name one source here: {', '.join(kinds[:-1])} or {kinds[-1]}"


def _named(reference: Mapping[str, Any], field: str, *needed: str) -> Iterator[Mistake]:
    yield from (((field, name), MISSING) for name in needed if not reference.get(name))


def _of_mounts(mounts: Sequence[Mapping[str, Any]], volumes: Sequence[str | None]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        name, path = mount.get("name"), mount.get("mountPath")
        if not name:
            yield (index, "name"), MISSING
        elif name not in volumes:
            yield (index, "name"), f'the pod has no volume "{name}": add it to volumes'
        if not path:
            yield (index, "mountPath"), MISSING
        elif path in seen:
            yield (index, "mountPath"), f"two volumes are mounted at {path}: mount one of them elsewhere"
        seen.add(path or "")


def broken_resources(resources: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yields what is wrong with requests and limits."""
    limits, requests = (resources.get(field) or {} for field in ("limits", "requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, quantity in amounts.items():
            if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
                yield (field, name), f"Kubernetes does not have this resource{meant(name, _RESOURCES)}"
            elif _amount(quantity) is None:
                yield (field, name), f'"{quantity}" is not a quantity: write for example 500m, 2 or 2Gi'
    for name in requests.keys() & limits.keys():
        wanted, allowed = _amount(requests[name]), _amount(limits[name])
        if wanted is not None and allowed is not None and wanted > allowed:
            yield ("requests", name), f"{requests[name]} is more than the limit of {limits[name]}: lower it"


def _amount(quantity: object) -> Decimal | None:
    """Returns the value of a quantity of a resource; None for other text, and for a negative number."""
    amount = amount_of(quantity)
    return None if amount is None or amount.is_signed() else amount
