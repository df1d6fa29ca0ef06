"""YAML files with jobs in them: what they say, and on which line."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from qtj_operator.api.names import API_VERSION, KIND
from qtj_operator.api.reading import dotted
from qtj_operator.cli.errors import InputError
from qtj_operator.cli.settings import Setting

__all__ = ["Document", "File", "read_documents", "read_file"]

FieldPath = Sequence[int | str]
"""Where a field is: names in objects and indexes in lists."""

_NAMESPACE = "default"
_CONFIGS = {"ConfigMap", "Secret"}


@dataclass(slots=True)
class Document:
    """One document of a file.

    Attributes:
        manifest: What it says.
        file: The file.
        node: The same with positions.
        settings: What the command line says in its place.
    """

    manifest: dict[str, Any]
    file: str
    node: yaml.Node
    settings: Sequence[Setting] = ()

    def where(self, path: FieldPath) -> str:
        """Says where a field comes from: file and line, or the option that set it."""
        for setting in self.settings:
            if tuple(path[: len(setting.path)]) == setting.path:
                return f"--set {setting.text}"
        return f"{self.file}:{_line(self.node, path)}"

    def error(self, path: FieldPath, sentence: str) -> str:
        """Returns one line on a mistake: where, which field, what."""
        return f"{self.where(path)}: {dotted(path)}: {sentence}"


@dataclass(frozen=True, slots=True)
class File:
    """What a file holds.

    Attributes:
        jobs: The jobs.
        configs: Data of its ConfigMaps and Secrets, by kind and name.
        others: Kinds and names of what means nothing here.
    """

    jobs: Sequence[Document]
    configs: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    others: Sequence[str] = ()


def read_file(path: Path, settings: Sequence[Setting] = ()) -> File:
    """Reads a file.

    Raises:
        InputError: It cannot be read, is not YAML, or holds no job.
    """
    documents = list(read_documents(path))
    jobs = [each for each in documents if each.manifest.get("kind") == KIND]
    if not jobs:
        raise InputError(_no_job(path, documents))
    for job in jobs:
        _prepare(job, settings)
    _refuse_same_names(jobs)
    rest = [each for each in documents if each not in jobs]
    others = [_called(each) for each in rest if each.manifest.get("kind") not in _CONFIGS]
    return File(jobs, dict(_configs(rest)), others)


def read_documents(path: Path) -> Iterator[Document]:
    """Yields the objects of a file.

    Raises:
        InputError: It cannot be read, or is not YAML.
    """
    text = _text(path)
    try:
        for node in yaml.compose_all(text, yaml.SafeLoader):
            _refuse_duplicates(str(path), node)
            manifest = yaml.SafeLoader("").construct_document(node)
            if manifest is None:
                continue
            if not isinstance(manifest, dict):
                raise InputError(f"{path}:{node.start_mark.line + 1}: this is no Kubernetes object")
            yield Document(manifest, str(path), node)
    except RecursionError:
        raise InputError(f"{path}: this is nested too deeply: no job has a thousand levels") from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = mark.line + 1 if mark else 1
        raise InputError(f"{path}:{line}: this is not YAML: {problem.problem}") from None
    except yaml.YAMLError as problem:
        raise InputError(f"{path}: this is not YAML: {' '.join(str(problem).split())}") from None


def _prepare(job: Document, settings: Sequence[Setting]) -> None:
    if job.manifest.get("apiVersion") != API_VERSION:
        raise InputError(job.error(["apiVersion"], f"it must be {API_VERSION}"))
    job.settings = settings
    for setting in settings:
        setting.apply(job.manifest)
    if isinstance(job.manifest.get("metadata"), dict):
        job.manifest["metadata"].setdefault("namespace", _NAMESPACE)


def _refuse_same_names(jobs: Sequence[Document]) -> None:
    """Refuses two jobs that are one object to a cluster: the second would change the first."""
    seen: list[tuple[object, object]] = []
    for job in jobs:
        meta = job.manifest.get("metadata")
        address = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else (None, None)
        if address[1] is not None and address in seen:
            raise InputError(job.error(["metadata", "name"], f"two jobs of this file are called {address[1]}"))
        seen.append(address)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder: name the file in it") from None
    except OSError as problem:
        raise InputError(f"{path}: it cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no text in UTF-8") from None


def _no_job(path: Path, documents: Sequence[Document]) -> str:
    tfjob = next((each for each in documents if each.manifest.get("kind") == "TFJob"), None)
    if tfjob:
        return tfjob.error(["kind"], f"this is a TFJob: qtj convert {path} makes a {KIND} of it")
    if len(documents) == 1:
        return documents[0].error(["kind"], f"there is no {KIND} in this file: write kind: {KIND}")
    return f"{path}: there is no {KIND} in this file"


def _called(document: Document) -> str:
    meta = document.manifest.get("metadata") or {}
    return f"{document.manifest.get('kind')} {meta.get('name', '')}".strip()


def _configs(documents: Sequence[Document]) -> Iterator[tuple[tuple[str, str], Mapping[str, str]]]:
    for each in documents:
        kind, meta = each.manifest.get("kind"), each.manifest.get("metadata") or {}
        if kind in _CONFIGS:
            data = {key: str(value) for key, value in (each.manifest.get("data") or {}).items()}
            plain = {key: str(value) for key, value in (each.manifest.get("stringData") or {}).items()}
            secret = _decoded(each, data) if kind == "Secret" else data
            yield (str(kind), str(meta.get("name"))), {**secret, **plain}


def _decoded(secret: Document, data: Mapping[str, str]) -> Mapping[str, str]:
    try:
        return {key: base64.b64decode(value, validate=True).decode() for key, value in data.items()}
    except (binascii.Error, UnicodeDecodeError):
        raise InputError(secret.error(["data"], "values of a Secret are text in base64")) from None


def _refuse_duplicates(file: str, node: yaml.Node | None, above: tuple[yaml.Node, ...] = ()) -> None:
    """Refuses a field that is written twice, of which YAML would silently take the last, and what holds itself."""
    if node and any(node is each for each in above):
        raise InputError(f"{file}:{node.start_mark.line + 1}: this holds itself by its anchor: write it out")
    around = (*above, node) if node else above
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen and key.tag != "tag:yaml.org,2002:merge":
                raise InputError(f"{file}:{key.start_mark.line + 1}: {key.value} is written twice")
            seen.add(str(key.value))
            _refuse_duplicates(file, value, around)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicates(file, item, around)


def _line(node: yaml.Node, path: FieldPath) -> int:
    """Returns the line on which a field is written; that of the last of its parents, when it is missing."""
    line: int = node.start_mark.line
    for part in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1
