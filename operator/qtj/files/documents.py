"""YAML files with jobs: their text, their objects, and the line or the `--set` of each field."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import yaml

from qtj.files.config_data import KINDS, digests_of, read_config
from qtj.files.settings import Setting
from qtj.files.yaml_reader import documents_of, value_of
from qtj.terminal.errors import InputError, map_with_errors
from qtj.terminal.text import visible
from qtj_operator.api.names import API_VERSIONS, GROUP, KIND, NEWEST_API_VERSION
from qtj_operator.api.reading import dotted
from qtj_operator.api.spelling import nearest
from qtj_operator.api.study import STUDY_KIND

__all__ = [
    "STDIN",
    "Document",
    "Documents",
    "File",
    "attributed",
    "display_name",
    "documents_in",
    "file_of",
    "read_documents",
    "read_file",
    "read_text",
    "with_settings",
]

FieldPath = Sequence[int | str]
"""Where a field is: names in objects and indexes in lists."""

_NAMESPACE = "default"
_TFJOB = "TFJob"


R = TypeVar("R")
STDIN = "-"
"""The file name that means stdin."""
_MOST_BYTES = 3 * 1024 * 1024
"""The most that an API server reads of one request: `MaxRequestBodyBytes` of apiserver's `NewConfig`."""


@dataclass(slots=True)
class Document:
    """One document of a file.

    Attributes:
        manifest: Its content.
        file: The file.
        node: The same with positions.
        settings: Fields that the command line sets.
        data: ConfigMaps and Secrets of the file.
        is_made: Whether it was made of a program: then its lines are in no file of the user.
    """

    manifest: dict[str, Any]
    file: str
    node: yaml.Node
    settings: Sequence[Setting] = ()
    data: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    is_made: bool = False

    @property
    def configs(self) -> Mapping[str, str]:
        """Digests of the ConfigMaps and Secrets that it refers to, as far as they are in the file."""
        return digests_of(self.manifest, self.data)

    def where(self, path: FieldPath) -> str:
        """Returns where a field is set: file and line, or the option that set it, or the program it is made of."""
        setting = self._setting(path) or self._made_by(path)
        if setting:
            return setting.name
        return self.file if self.is_made else f"{self.file}:{self.line(path)}"

    def line(self, path: FieldPath) -> int:
        """Returns the line on which a field is written; for a missing field, that of its parent."""
        return _locate(self.node, path)[0]

    def error(self, path: FieldPath, sentence: str) -> str:
        """Returns one line about a mistake: its place, its field, and what is wrong."""
        return " ".join(visible(f"{self.where(path)}: {dotted(path)}: {sentence}").split("\n"))

    def written(self, path: FieldPath) -> str | None:
        """Returns a value as its author wrote it; None for a list or an object."""
        setting = self._setting(path)
        node, rest = (setting.node, path[len(setting.path) :]) if setting else (self.node, path)
        found = _locate(node, rest)[1] if node else None
        return str(found.value) if isinstance(found, yaml.ScalarNode) else None

    def _made_by(self, path: FieldPath) -> Setting | None:
        """Returns the option that created a missing field as the parent of the field that it sets."""
        made = _locate(self.node, path)[1] is None
        return next((each for each in self.settings if made and each.path[: len(path)] == tuple(path)), None)

    def _setting(self, path: FieldPath) -> Setting | None:
        """Returns the last option that set a field."""
        return next((each for each in reversed(self.settings) if tuple(path[: len(each.path)]) == each.path), None)


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read from a file.

    Attributes:
        name: The name of the file in messages.
        objects: Its objects.
        mistakes: A line about each document that is not an object, or that cannot be read.
    """

    name: str
    objects: Sequence[Document]
    mistakes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """The content of a file.

    Attributes:
        name: Its name in messages.
        jobs: The jobs.
        configs: Data of its ConfigMaps and Secrets, by kind and name.
        others: Kinds and names of other objects, which are not used.
        mistakes: Mistakes of the file itself, one line each. Mistakes in its jobs are found by `check_file`.
    """

    name: str
    jobs: Sequence[Document]
    configs: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    others: Sequence[str] = ()
    mistakes: Sequence[str] = ()


def read_file(path: Path, settings: Sequence[Setting] = ()) -> File:
    """Reads a file, or stdin where the path is `-`.

    Raises:
        InputError: It cannot be read.
    """
    return file_of(read_documents(path), settings)


def file_of(read: Documents, settings: Sequence[Setting] = ()) -> File:
    """Returns the jobs among the objects of a file, with these settings."""
    found = [each for each in read.objects if _is_job(each)]
    rest = [each for each in read.objects if not _is_job(each)]
    jobs, misset = map_with_errors(lambda job: with_settings(job, settings), found)
    kept = [each for each in rest if each.manifest.get("kind") in KINDS]
    configs, refused = map_with_errors(lambda config: read_config(config.manifest, config), kept)
    for job in jobs:
        job.data = dict(configs)
    mistakes = [*read.mistakes, *misset, *refused, *_same_names(jobs)]
    if not found and not read.mistakes:
        mistakes.append(_no_job(read))
    others = [_object_name(each) for each in rest if each.manifest.get("kind") not in KINDS]
    return File(name=read.name, jobs=jobs, configs=dict(configs), others=others, mistakes=mistakes)


def read_documents(path: Path) -> Documents:
    """Reads the objects of a file. A pipe can be read once, so whoever needs them again is given them.

    Raises:
        InputError: It cannot be read.
    """
    return documents_in(display_name(path), read_text(path))


def documents_in(name: str, text: str) -> Documents:
    """Returns the objects of a text.

    Args:
        name: The name of its file in messages.
        text: The text.
    """
    objects: list[Document] = []
    wrong: list[str] = []
    try:
        for node in documents_of(name, text):
            manifest = value_of(node)
            if isinstance(manifest, dict):
                objects += _unfolded(Document(manifest, name, node))
            elif manifest is not None:
                what = "this is not a Kubernetes object: write apiVersion, kind, metadata and spec"
                wrong.append(f"{name}:{node.start_mark.line + 1}: {what}")
    except InputError as problem:
        wrong += str(problem).split("\n")
    return Documents(name, objects, wrong)


def _unfolded(document: Document) -> Iterator[Document]:
    """Yields the items of a List, as kubectl reads them, or else the document itself."""
    items = document.manifest.get("items")
    if document.manifest.get("kind") != "List" or not isinstance(items, list):
        yield document
        return
    nodes = next(value for key, value in document.node.value if key.value == "items").value
    for item, node in zip(items, nodes, strict=True):
        if isinstance(item, dict):
            yield from _unfolded(Document(item, document.file, node))


def _is_job(document: Document) -> bool:
    """Returns whether a document is a job, even when its kind or its apiVersion is misspelt."""
    kind, version = (document.manifest.get(name) for name in ("kind", "apiVersion"))
    ours = isinstance(version, str) and version.partition("/")[0] == GROUP
    near = nearest(kind, [KIND]) and (version is None or nearest(version, API_VERSIONS))
    return kind == KIND or (kind not in (_TFJOB, STUDY_KIND) and bool(ours or near))


def with_settings(document: Document, settings: Sequence[Setting]) -> Document:
    """Returns a job of a file with these settings.

    Raises:
        InputError: It has no place for one of them.
    """
    job = replace(document, manifest=value_of(document.node), settings=settings)
    for setting in settings:
        setting.apply(job.manifest)
    if isinstance(job.manifest.get("metadata"), dict) and job.manifest["metadata"].get("namespace") is None:
        job.manifest["metadata"]["namespace"] = _NAMESPACE
    return job


def _same_names(jobs: Sequence[Document]) -> Iterator[str]:
    """Yields a line about each job with the name of an earlier one, which it would change on a cluster."""
    seen: list[tuple[object, object]] = []
    for job in jobs:
        meta = job.manifest.get("metadata")
        address = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else (None, None)
        if isinstance(address[1], str) and address in seen:
            yield job.error(["metadata", "name"], f"two jobs of this file are called {address[1]}: rename one")
        seen.append(address)


def _no_job(read: Documents) -> str:
    if tfjob := next((each for each in read.objects if each.manifest.get("kind") == _TFJOB), None):
        return tfjob.error(["kind"], f"this is a TFJob: qtj convert {read.name} makes a {KIND} of it")
    if study := next((each for each in read.objects if each.manifest.get("kind") == STUDY_KIND), None):
        return study.error(["kind"], "this is a study: qtj run FILE runs it here, qtj submit FILE on a cluster")
    if not read.objects and read.name == display_name(Path(STDIN)):
        return f"{read.name}: there is nothing: see whether the command before the pipe has failed"
    if len(read.objects) == 1:
        return read.objects[0].error(["kind"], f"there is no {KIND} in this file: write kind: {KIND}")
    return f"{read.name}: there is no {KIND} in this file: write one, with apiVersion: {NEWEST_API_VERSION}"


def _object_name(document: Document) -> str:
    meta = document.manifest.get("metadata")
    name = meta.get("name", "") if isinstance(meta, dict) else ""
    return visible(f"{document.manifest.get('kind')} {name}".strip()).replace("\n", " ")


def _locate(node: yaml.Node, path: FieldPath) -> tuple[int, yaml.Node | None]:
    """Returns the line on which a field is written, and its value; for a missing field, the line of its parent."""
    line: int = node.start_mark.line
    for part in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if found is None:
                return line + 1, None
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            return line + 1, None
    return line + 1, node


def attributed(check: Callable[[Document], R], document: Document) -> R:
    """Returns the result of a check of a job.

    Raises:
        InputError: There are mistakes. A mistake that disappears without one of the --set options names that option
            instead of a line of the file.
    """
    try:
        return check(document)
    except InputError as problem:
        lines = str(problem).split("\n")
    raise InputError("\n".join(_attributed(check, document, lines)))


def _attributed(check: Callable[[Document], object], document: Document, lines: Sequence[str]) -> Iterator[str]:
    without = {setting.name: _mistakes_without(check, document, setting) for setting in document.settings}
    for line in lines:
        of_file = line.startswith(f"{document.file}:")
        # Without the option, other mistakes may hide this one. Then the option may not be the cause.
        option = next((name for name, left in without.items() if line not in left and set(left) <= set(lines)), None)
        yield f"{option}: {line.partition(': ')[2]}" if of_file and option else line


def _mistakes_without(check: Callable[[Document], object], document: Document, setting: Setting) -> Sequence[str]:
    kept = [each for each in document.settings if each is not setting]
    try:
        check(with_settings(document, kept))
    except InputError as problem:
        return str(problem).split("\n")
    return ()


def display_name(path: Path) -> str:
    """Returns the name of a file in messages."""
    return "<stdin>" if str(path) == STDIN else str(path)


def read_text(path: Path) -> str:
    """Returns the text of a file.

    Raises:
        InputError: It cannot be read, is too large, or is not text.
    """
    name = display_name(path)
    if str(path) == STDIN and sys.stdin is None:
        raise InputError(f"{name}: it is closed: name a file")
    try:
        if str(path) == STDIN:
            raw = _read(sys.stdin.buffer)
        else:
            with path.open("rb") as file:
                raw = _read(file)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: this is a folder: name the file in it") from None
    except OSError as problem:
        raise InputError(f"{name}: it cannot be read ({problem.strerror})") from None
    except ValueError:  # a NUL in the name
        raise InputError(f"{name!r}: no file can have this name") from None
    if len(raw) > _MOST_BYTES:
        raise InputError(
            f"{name}: this has more than {_MOST_BYTES // 1024**2} MiB, which no API server takes: shorten it"
        )
    return _decoded(name, raw)


def _read(file: BinaryIO) -> bytes:
    """Reads to the end, or one byte more than is allowed: /dev/zero has no end."""
    return file.read(_MOST_BYTES + 1)


def _decoded(name: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{name}:{line}: this is not text in UTF-8: save the file as UTF-8") from None
