"""Finds everything that the schema, the operator and Kubernetes' models would refuse, before anything is started."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from qtj.checks.arguments import argument_mistakes
from qtj.checks.program import program_mistakes
from qtj.files.documents import Document, File, attributed
from qtj.local.rehearsal import Rehearsal, rehearse
from qtj.rules.mistakes import NO_NAME, NO_SPEC, UNKNOWN_TO_KUBERNETES, Mistake, Path, causes, mistake_line
from qtj.rules.pod import metadata_mistakes, template_mistakes
from qtj.terminal.errors import InputError, map_with_errors
from qtj_operator.api.crd import crd
from qtj_operator.api.limits import beyond
from qtj_operator.api.names import API_VERSIONS, KIND, LABEL_QUEUE, MAX_NAME_LENGTH, NAME_PATTERN
from qtj_operator.api.reading import MAPPING, NO_SUCH_FIELD, TEXT, dotted, faults
from qtj_operator.api.spec import Spec
from qtj_operator.api.spelling import meant
from qtj_operator.api.template import read_template
from qtj_operator.core.status import QUEUE_LABEL_IGNORED

__all__ = ["SUSPENDED", "check_file", "check_job", "job_mistakes"]

_HOMES = (("spec",), ("spec", "runPolicy"), ("spec", "runPolicy", "schedulingPolicy"), ("spec", "artifacts"))
"""Whose fields are taken for those of other objects."""
_TOP = {"apiVersion", "kind", "metadata", "spec", "status"}
_FIELD = re.compile(rf"\b(?:spec\.)?((?:{'|'.join(map(to_camel, Spec.model_fields))})(?:\.\w+)*)")
_GENERATED = "write name here: the names of pods are made from it, and only an API server could choose one"
_EMPTY_ROLE = "this is empty: write {} for a role that sets no field"
SUSPENDED = "this is true, so nothing would run: write false, for example by --set spec.suspend=false"
"""Of a job or a study that is to run on this machine."""


def check_file(file: File, *, here: bool = False) -> list[Rehearsal]:
    """Checks a file and each of its jobs, these as `check_job` does.

    Raises:
        InputError: The operator or the API server would refuse something: all mistakes, in the order of the lines.
    """
    rehearsals, wrong = map_with_errors(partial(attributed, partial(check_job, here=here)), file.jobs)
    if lines := [*file.mistakes, *wrong]:
        raise InputError("\n".join(sorted(lines, key=lambda line: _number(file.name, line))))
    return rehearsals


def check_job(document: Document, *, here: bool = False) -> Rehearsal:
    """Checks a job and returns what the operator would create for it.

    Args:
        document: The job.
        here: Whether it is to run on this machine rather than on a cluster.

    Raises:
        InputError: The operator or the API server would refuse it, or there is nothing to run.
    """
    found = list(job_mistakes(document))
    if found:
        raise InputError("\n".join(found))
    spec = document.manifest["spec"]
    if here and spec.get("suspend"):
        raise InputError(document.error(["spec", "suspend"], SUSPENDED))
    rehearsal = rehearse(document.manifest, here=here)
    if rehearsal.refusal:
        raise InputError(_refusal(document, rehearsal.refusal))
    misunderstood = [document.error(*each) for each in argument_mistakes(spec, _templates(spec))]
    if lines := [*misunderstood, *program_mistakes(document, here=here)]:
        raise InputError("\n".join(lines))
    return rehearsal


def job_mistakes(document: Document) -> Iterator[str]:
    """Yields a line for every mistake that the schema or Kubernetes' own models find."""
    found: dict[Path, str] = {}
    for path, what in _all_mistakes(document.manifest):
        found.setdefault(path, what)
    for path, what in sorted(causes(found).items(), key=lambda each: document.line(each[0])):
        yield mistake_line(document, path, what)


def _all_mistakes(manifest: Mapping[str, Any]) -> Iterator[Mistake]:
    if what := beyond(_as_applied(manifest)):
        yield ("spec",), what
    for name in sorted(set(manifest) - _TOP):
        yield (name,), NO_SUCH_FIELD + (_home(name) or meant(name, _TOP))
    for name, values in (("apiVersion", API_VERSIONS), ("kind", (KIND,))):
        if manifest.get(name) not in values:
            yield (name,), f"it must be {' or '.join(reversed(values))}"
    yield from _metadata_mistakes(manifest.get("metadata"))
    spec = manifest.get("spec")
    if isinstance(spec, dict) and spec:
        yield from _spec_mistakes(spec)
    else:
        yield ("spec",), MAPPING if spec else NO_SPEC
    yield from _kubernetes_mistakes(manifest)
    if _has_queue_label_alone(manifest.get("metadata"), spec):
        yield ("metadata", "labels", LABEL_QUEUE), QUEUE_LABEL_IGNORED


def _has_queue_label_alone(metadata: object, spec: object) -> bool:
    """Whether a queue of Kueue is named where it has no effect, and nowhere else."""
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    where: object = spec
    for field in ("runPolicy", "schedulingPolicy", "queueName"):
        where = where.get(field) if isinstance(where, dict) else None
    return isinstance(labels, dict) and LABEL_QUEUE in labels and not where


def _as_applied(manifest: Mapping[str, Any]) -> bytes:
    """Returns the job as an API server has it after `kubectl apply`, which adds what was applied as an annotation."""
    applied = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)
    return json.dumps({**manifest, "applied": applied}, separators=(",", ":"), ensure_ascii=False).encode()


def _metadata_mistakes(metadata: object) -> Iterator[Mistake]:
    if isinstance(metadata, dict):
        if not metadata.get("name") and metadata.get("generateName"):
            yield ("metadata", "generateName"), _GENERATED
        elif what := _wrong_name(metadata.get("name")):
            yield ("metadata", "name"), what
    elif metadata is None:
        yield ("metadata", "name"), NO_NAME
    else:
        yield ("metadata",), MAPPING


def _wrong_name(name: object) -> str | None:
    if name is None or name == "":
        return NO_NAME
    if isinstance(name, int | float) and not isinstance(name, bool):
        return f"this has to be text, and in quotes it is no valid name: begin with a letter, as in job-{name}"
    if not isinstance(name, str):
        return TEXT
    if len(name) > MAX_NAME_LENGTH:
        return f"a name may have at most {MAX_NAME_LENGTH} characters, this one has {len(name)}"
    if not re.fullmatch(NAME_PATTERN, name):
        return f'"{name}" must start with a letter and hold only a-z, 0-9 and -, and not end with -'
    return None


def _spec_mistakes(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    empty = _empty_roles(spec)
    yield from ((path, _EMPTY_ROLE) for path in empty)
    try:
        Spec.read(spec)
    except ValidationError as error:
        for path, what in faults(error):
            if empty and path == ("replicaSpecs",):  # it names the roles that there are not
                continue
            yield ("spec", *path), _helped(spec, path, what)
    inference = spec.get("inference")
    if isinstance(inference, dict) and isinstance(inference.get("template"), dict):
        try:  # not read by the model, because it may be edited until it is used
            read_template(inference["template"])
        except ValidationError as error:
            yield from ((("spec", "inference", "template", *path), what) for path, what in faults(error))


def _helped(spec: Mapping[str, Any], path: Path, what: str) -> str:
    """Returns what is wrong, with what to write instead if that is known."""
    if what == NO_SUCH_FIELD:
        return what + (_home(path[-1]) or meant(path[-1], _fields(("spec", *path[:-1]))))
    return _wrong_in_quotes(spec, path) if what == TEXT else what


def _empty_roles(spec: Mapping[str, Any]) -> list[Path]:
    """Returns the paths of roles without a value, which an API server drops."""
    roles = spec.get("replicaSpecs")
    empty = [role for role in roles if roles[role] is None] if isinstance(roles, dict) else []
    return [("spec", "replicaSpecs", role) for role in empty if role in _fields(("spec", "replicaSpecs"))]


def _wrong_in_quotes(spec: Mapping[str, Any], path: Path) -> str:
    """Returns what is wrong with a value that should be text: with quotes alone, it may still be refused."""
    try:
        Spec.read(_as_text(spec, path))
    except ValidationError as error:
        return dict(faults(error)).get(path, TEXT)
    return TEXT


def _as_text(value: Any, path: Path) -> Any:
    """Returns `value` with text in place of what is at `path`."""
    if not path:
        return str(value)
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    changed = {key: _as_text(each, path[1:]) if key == path[0] else each for key, each in pairs}
    return changed if isinstance(value, Mapping) else list(changed.values())


def _home(name: object) -> str:
    """Returns the end of a message about a field that is in the wrong place: where it belongs; "" for others."""
    place = next((place for place in _HOMES if name in _fields(place)), None)
    return f": write it in {dotted(place)}" if place else ""


def _fields(path: Iterable[int | str]) -> Collection[str]:
    """Returns the names of the fields of an object in the schema."""
    schema = _schema()
    for part in path:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
    return list(schema["properties"])


@cache
def _schema() -> Mapping[str, Any]:
    """Returns the schema of a job, which takes milliseconds to make and has many readers where a file is mistaken."""
    schema: Mapping[str, Any] = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _kubernetes_mistakes(manifest: Mapping[str, Any]) -> Iterator[Mistake]:
    found: dict[Path, Iterable[Mistake]] = {("metadata",): metadata_mistakes(manifest.get("metadata"))}
    found |= {path: template_mistakes(template) for path, template in _templates(manifest.get("spec")).items()}
    for path, mistakes in found.items():
        for rest, what in mistakes:
            yield (*path, *rest), what + (_home(rest[-1]) if what == UNKNOWN_TO_KUBERNETES else "")


def _templates(spec: Any) -> Mapping[Path, Any]:
    if not isinstance(spec, dict):
        return {}
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
    """Returns the operator's sentence, after the line of the first field that it names."""
    named = _FIELD.search(sentence)
    path = ["spec", *(named[1].split(".") if named else ())]
    return f"{document.where(path)}: {sentence}"


def _number(name: str, line: str) -> int:
    """Returns the line of a file that a mistake is on; 0 for a mistake elsewhere, such as in an option."""
    number = line.removeprefix(f"{name}:").partition(":")[0]
    return int(number) if number.isdecimal() else 0
