"""Checks a job before anything is started: all that its schema, the operator and Kubernetes' models would refuse."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from qtj_operator.api.job import faults
from qtj_operator.api.names import MAX_NAME_LENGTH, NAME_PATTERN
from qtj_operator.api.spec import Spec
from qtj_operator.cli.errors import InputError
from qtj_operator.cli.manifests import Document
from qtj_operator.local.rehearsal import Rehearsal, rehearse

__all__ = ["checked", "mistakes"]

_TOP = {"apiVersion", "kind", "metadata", "spec", "status"}
_FIELD = re.compile(rf"\b(?:spec\.)?((?:{'|'.join(map(to_camel, Spec.model_fields))})(?:\.\w+)*)")


def checked(document: Document) -> Rehearsal:
    """Checks a job and returns what the operator would create for it.

    Raises:
        InputError: The operator or the API server would refuse it.
    """
    found = list(mistakes(document))
    if found:
        raise InputError("\n".join(found))
    rehearsal = rehearse(document.manifest)
    if rehearsal.refusal:
        raise InputError(_refusal(document, rehearsal.refusal))
    return rehearsal


def mistakes(document: Document) -> Iterator[str]:
    """Yields a line for every mistake that the schema or Kubernetes' own models know of."""
    manifest = document.manifest
    for name in sorted(set(manifest) - _TOP):
        yield document.error([name], "there is no such field")
    yield from _name(document)
    if not isinstance(manifest.get("spec"), dict):
        yield document.error(["spec"], "write what to train here")
        return
    try:
        Spec.model_validate(manifest["spec"])
    except ValidationError as error:
        for path, what in faults(error):
            yield document.error(("spec", *path), what)
    for path, what in _template_mistakes(manifest):
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


def _template_mistakes(manifest: Mapping[str, Any]) -> Iterator[tuple[tuple[int | str, ...], str]]:
    try:
        from qtj_operator.cli.podfields import template_mistakes  # noqa: PLC0415  a second, and an optional library
    except ImportError:
        return
    spec = manifest["spec"]
    templates: dict[tuple[int | str, ...], Any] = {("spec", "template"): spec.get("template")}
    roles = spec.get("replicaSpecs")
    for role, replica in (roles if isinstance(roles, dict) else {}).items():
        if isinstance(replica, dict) and "template" in replica:
            templates["spec", "replicaSpecs", role, "template"] = replica["template"]
    for path, template in templates.items():
        yield from (((*path, *rest), what) for rest, what in template_mistakes(template))


def _refusal(document: Document, sentence: str) -> str:
    """Puts before the operator's sentence where the first field is written that it speaks of."""
    named = _FIELD.search(sentence)
    path = ["spec", *(named[1].split(".") if named else ())]
    return f"{document.where(path)}: {sentence}"
