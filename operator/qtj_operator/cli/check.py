"""Checks a job before anything is started: all that its schema, the operator and Kubernetes' models would refuse."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from qtj_operator.api.crd import crd
from qtj_operator.api.names import MAX_NAME_LENGTH, NAME_PATTERN
from qtj_operator.api.reading import NO_SUCH_FIELD, faults
from qtj_operator.api.spec import Spec
from qtj_operator.cli.arguments import argument_mistakes
from qtj_operator.cli.errors import InputError, meant
from qtj_operator.cli.manifests import Document
from qtj_operator.local.rehearsal import Rehearsal, rehearse

__all__ = ["checked", "mistakes"]

Path = tuple[int | str, ...]
Mistake = tuple[Path, str]
"""Path and sentence."""

_TOP = {"apiVersion", "kind", "metadata", "spec", "status"}
_FIELD = re.compile(rf"\b(?:spec\.)?((?:{'|'.join(map(to_camel, Spec.model_fields))})(?:\.\w+)*)")


def checked(document: Document, *, here: bool = False) -> Rehearsal:
    """Checks a job and returns what the operator would create for it.

    Args:
        document: The job.
        here: Whether it is to run on this machine rather than on a cluster.

    Raises:
        InputError: The operator or the API server would refuse it.
    """
    found = list(mistakes(document))
    if found:
        raise InputError("\n".join(found))
    rehearsal = rehearse(document.manifest, here=here)
    if rehearsal.refusal:
        raise InputError(_refusal(document, rehearsal.refusal))
    spec = document.manifest["spec"]
    misunderstood = [document.error(*each) for each in argument_mistakes(spec, _templates(spec))]
    if misunderstood:
        raise InputError("\n".join(misunderstood))
    return rehearsal


def mistakes(document: Document) -> Iterator[str]:
    """Yields a line for every mistake that the schema or Kubernetes' own models know of."""
    manifest = document.manifest
    for name in sorted(set(manifest) - _TOP):
        yield document.error([name], NO_SUCH_FIELD + meant(name, _TOP))
    yield from _name(document)
    if not isinstance(manifest.get("spec"), dict):
        yield document.error(["spec"], "write what to train here")
        return
    found = dict(_spec_mistakes(manifest["spec"]))
    for path, what in _kubernetes_mistakes(manifest):
        found.setdefault(path, what)
    for path, what in found.items():
        yield document.error(path, what)


def _name(document: Document) -> Iterator[str]:
    meta = document.manifest.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    path = ["metadata", "name"]
    if not isinstance(name, str) or not name:
        yield document.error(path, "give the job a name")
    elif len(name) > MAX_NAME_LENGTH:
        yield document.error(path, f"a name may have at most {MAX_NAME_LENGTH} characters, this one has {len(name)}")
    elif not re.fullmatch(NAME_PATTERN, name):
        yield document.error(path, f'"{name}" must start with a letter and hold only a-z, 0-9 and -')


def _spec_mistakes(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    try:
        Spec.read(spec)
    except ValidationError as error:
        for path, what in faults(error):
            unknown = what == NO_SUCH_FIELD
            yield ("spec", *path), what + (meant(str(path[-1]), _fields(("spec", *path[:-1]))) if unknown else "")


def _fields(path: Iterable[int | str]) -> Iterable[str]:
    """Returns the names of the fields of an object in the schema."""
    schema: dict[str, Any] = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for part in path:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
    return list(schema["properties"])


def _kubernetes_mistakes(manifest: Mapping[str, Any]) -> Iterator[Mistake]:
    try:
        from qtj_operator.cli.podfields import (  # noqa: PLC0415  a second, and an optional library
            metadata_mistakes,
            template_mistakes,
        )
    except ImportError:
        return
    yield from ((("metadata", *path), what) for path, what in metadata_mistakes(manifest.get("metadata")))
    for path, template in _templates(manifest["spec"]).items():
        yield from (((*path, *rest), what) for rest, what in template_mistakes(template))


def _templates(spec: Mapping[str, Any]) -> Mapping[Path, Any]:
    templates: dict[Path, Any] = {("spec", "template"): spec.get("template")}
    roles = spec.get("replicaSpecs")
    for role, replica in (roles if isinstance(roles, dict) else {}).items():
        if isinstance(replica, dict) and "template" in replica:
            templates["spec", "replicaSpecs", role, "template"] = replica["template"]
    inference = spec.get("inference")
    if isinstance(inference, dict) and "template" in inference:
        templates["spec", "inference", "template"] = inference["template"]
    return templates


def _refusal(document: Document, sentence: str) -> str:
    """Puts before the operator's sentence where the first field is written that it speaks of."""
    named = _FIELD.search(sentence)
    path = ["spec", *(named[1].split(".") if named else ())]
    return f"{document.where(path)}: {sentence}"
