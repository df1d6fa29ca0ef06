"""YAML as kubectl reads it, with positions: each document separately, with a limited size, and each key only once.

PyYAML composes the nodes. ruamel.yaml would need the same resolver, checks and sentences, is slower, and accepts texts
that kubectl refuses.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import yaml

from qtj.files.yaml_checks import MOST_VALUES, TOO_DEEP, TOO_MANY, check_document
from qtj.files.yaml_errors import explained, line_breaks
from qtj.files.yaml_values import SCALARS, KubectlLoader, is_merge
from qtj.terminal.errors import InputError

__all__ = ["documents_of", "value_of"]

_MOST_BROKEN = 20
"""How many documents of a file are reported not to be YAML: a user does not need more."""

_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
"""Begins a document at any place: no text in quotes and no block can contain it."""


class _TooManyError(InputError):
    """The file has more values than are read."""


class _Loader(KubectlLoader):
    """Composes one document of a file, and counts the values of the file.

    Args:
        name: The name of the file in messages.
        text: The document.
        line: The line of the file on which it begins, from 0.
        values: Counts the values of the file.
    """

    def __init__(self, name: str, text: str, line: int, values: Iterator[int]) -> None:
        super().__init__(text)
        self.line = line  # an attribute of the Reader: with it, the marks of nodes and errors are positions in the file
        self._file = name
        self._values = values

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if next(self._values) > MOST_VALUES:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            raise _TooManyError(f"{self._file}:{line}: {TOO_MANY}")
        return super().compose_node(parent, index)


def documents_of(name: str, text: str) -> Iterator[yaml.Node]:
    """Yields the documents of a text that are not empty and can be read; see `value_of`.

    Args:
        name: The name of the text in messages.
        text: The text.

    Raises:
        InputError: After the last document, if some are not YAML or have no meaning for Kubernetes; a line for each.
    """
    wrong: list[str] = []
    values = itertools.count(1)
    for line, piece in _pieces(text):
        try:
            for node in _composed(_Loader(name, piece, line, values)):
                check_document(name, node)
                yield node
        except InputError as problem:
            wrong.append(str(problem))
            if isinstance(problem, _TooManyError):
                break
        except RecursionError:
            wrong.append(f"{name}: {TOO_DEEP}")
        except yaml.YAMLError as problem:
            at, sentence = explained(problem, piece, line)
            wrong.append(f"{name}:{at + 1}: {sentence}")
            if len(wrong) >= _MOST_BROKEN:
                break
    if wrong:
        raise InputError("\n".join(wrong))


def value_of(node: yaml.Node) -> Any:
    """Returns the value of a document of `documents_of` as new objects, with its aliases expanded."""
    if isinstance(node, yaml.MappingNode):
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if is_merge(key):
                for each in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                    merged = {**value_of(each), **merged}
        return {**merged, **{key.value: value_of(value) for key, value in node.value if not is_merge(key)}}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    return SCALARS[node.tag](node.value)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yields the text of each document, with the number of lines before it."""
    begin, line, ends = 0, 0, [*(found.start() for found in _SEPARATOR.finditer(text)), len(text)]
    for before, end in itertools.pairwise((0, *ends)):
        if end == len(text) or not _ends_with_directive(text[before:end]):  # it belongs to the next one
            yield line, text[begin:end]
            line += line_breaks(text[begin:end])
            begin = end


def _ends_with_directive(text: str) -> bool:
    lines = (each for each in reversed(text.split("\n")) if each.strip() and not each.startswith("#"))
    return next(lines, "").startswith("%")


def _composed(loader: _Loader) -> Iterator[yaml.Node]:
    """Yields the documents of a loader.

    Raises:
        yaml.YAMLError: One is not YAML.
    """
    try:
        while loader.check_node():
            if (node := loader.get_node()) is not None:
                yield node
    finally:
        loader.dispose()
