"""YAML as kubectl reads it, with positions: each document separately, with a limited size, and each key only once.

PyYAML composes the nodes. ruamel.yaml would need the same resolver, checks and sentences, is slower, and accepts texts
that kubectl refuses.

Source of the values of plain scalars: `resolve` of kubectl's library (go.yaml.in/yaml/v2). Unlike with PyYAML, y and n
are booleans, 0o17 and 1e3 are numbers, and a date and 1:30 are text.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from math import isinf
from typing import Any

import yaml

from qtj.files.yaml_errors import explained, line_breaks
from qtj.terminal.errors import InputError
from qtj.terminal.text import visible
from qtj_operator.api.limits import LEVELS

__all__ = ["KubectlDumper", "documents_of", "value_of"]

_CORE_TAG = "tag:yaml.org,2002:"

_TRUE, _FALSE = ("y", "yes", "true", "on"), ("n", "no", "false", "off")
_PLAIN = {
    "bool": (rf"{'|'.join(f'{w}|{w.capitalize()}|{w.upper()}' for w in (*_TRUE, *_FALSE))}", "yYnNtTfFoO"),
    "int": (r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "null": (r"~|null|Null|NULL|", ("~", "n", "N", "")),
    "merge": ("<<", "<"),
}
"""For each type the pattern of its plain scalars, and the characters that they begin with."""


_MOST_BROKEN = 20
"""How many documents of a file are reported not to be YAML: a user does not need more."""
_MOST_VALUES = 100_000
"""The most values of a file, and of a document with its aliases expanded. A large job has some hundreds."""
_TOO_DEEP = f"this is nested too deeply: use at most {LEVELS} levels"
_TOO_MANY = f"there are more than {_MOST_VALUES:,} values here, with aliases expanded: write fewer"
_OR_QUOTE = ", or put a value that begins with { or [ in quotes"
_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
"""Begins a document at any place: no text in quotes and no block can contain it."""


class _KubectlLoader(yaml.SafeLoader):
    """Gives plain scalars the tags of the types that kubectl reads them as."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own way


for _name, (_pattern, _first) in _PLAIN.items():
    _KubectlLoader.add_implicit_resolver(f"{_CORE_TAG}{_name}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


class KubectlDumper(yaml.SafeDumper):
    """Puts text in quotes that kubectl would read as something else, such as 1e-3, and keeps lines as they are."""

    yaml_implicit_resolvers = _KubectlLoader.yaml_implicit_resolvers

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Represents text; several lines as a block, unless YAML would change them."""
        return self.represent_scalar(f"{_CORE_TAG}str", text, style="|" if "\n" in text else None)


KubectlDumper.add_representer(str, KubectlDumper.represent_str)


def _is_merge(key: yaml.Node) -> bool:
    """Returns whether a key is `<<`, which merges other mappings into its own."""
    return key.tag == f"{_CORE_TAG}merge"


def _number(text: str) -> int | float | str:
    """Returns the number that a text means; a number that does not fit into 64 bits is text, as for kubectl."""
    plain = text.replace("_", "").lower()
    octal = re.sub(r"^([-+]?)0(?=[0-7]+$)", r"\g<1>0o", plain)
    try:
        whole = int(octal, 0)
    except ValueError:  # a fraction, or more digits than Python reads
        whole = None
    if whole is not None and -(2**63) <= whole < 2**64:
        return whole
    if whole is not None and not plain.lstrip("+-").isdecimal():  # a large number in another base than ten
        return text
    number = float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    if number.is_integer() and abs(number) < 2**63:
        return int(number)  # kubectl sends JSON, in which 2.0 and 2e0 are 2
    return text if isinf(number) and "inf" not in plain else number


_SCALARS: Mapping[str, Callable[[str], Any]] = {
    f"{_CORE_TAG}str": str,
    f"{_CORE_TAG}null": lambda _: None,
    f"{_CORE_TAG}bool": lambda text: {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}[text.lower()],
    f"{_CORE_TAG}int": _number,
    f"{_CORE_TAG}float": _number,
    f"{_CORE_TAG}merge": str,
}
"""Reads the text of a scalar, by its tag. Raises ValueError or KeyError where the text is not of that type."""


class _TooManyError(InputError):
    """The file has more values than are read."""


class _Loader(_KubectlLoader):
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
        if next(self._values) > _MOST_VALUES:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            raise _TooManyError(f"{self._file}:{line}: {_TOO_MANY}")
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
                _check_document(name, node)
                yield node
        except InputError as problem:
            wrong.append(str(problem))
            if isinstance(problem, _TooManyError):
                break
        except RecursionError:
            wrong.append(f"{name}: {_TOO_DEEP}")
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
            if _is_merge(key):
                for each in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                    merged = {**value_of(each), **merged}
        return {**merged, **{key.value: value_of(value) for key, value in node.value if not _is_merge(key)}}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    return _SCALARS[node.tag](node.value)


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


def _check_document(name: str, root: yaml.Node) -> None:
    """Refuses a document that Kubernetes cannot read, before its aliases are written out.

    Args:
        name: The name of its file in messages.
        root: The document.

    Raises:
        InputError: It is too large or too deep, or a key, a tag or a value has no meaning for Kubernetes.
    """
    sizes: dict[int, int] = {}

    def refuse(node: yaml.Node, sentence: str) -> None:
        raise InputError(f"{name}:{node.start_mark.line + 1}: {sentence}")

    def size(node: yaml.Node, above: tuple[yaml.Node, ...]) -> int:
        """Returns the number of values in a node; each node is checked once, however many aliases it has."""
        if any(node is each for each in above):
            refuse(node, "this contains itself through its anchor: write it out")
        if len(above) >= LEVELS:
            refuse(node, _TOO_DEEP)
        if id(node) not in sizes:
            if (wrong := _wrong(node)) is not None:
                refuse(*wrong)
            sizes[id(node)] = 1 + sum(size(each, (*above, node)) for each in _values(node))
            if sizes[id(node)] > _MOST_VALUES:
                refuse(node, _TOO_MANY)
        return sizes[id(node)]

    size(root, ())


def _values(node: yaml.Node) -> Iterator[yaml.Node]:
    for each in node.value if not isinstance(node, yaml.ScalarNode) else ():
        yield each[1] if isinstance(node, yaml.MappingNode) else each


def _wrong(node: yaml.Node) -> tuple[yaml.Node, str] | None:
    """Returns the place and the sentence of a mistake in a node itself, whatever its values are."""
    if isinstance(node, yaml.MappingNode) and (wrong := _wrong_key(node)):
        return wrong
    if isinstance(node, yaml.ScalarNode):
        return _wrong_scalar(node)
    kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
    return None if node.tag == f"{_CORE_TAG}{kind}" else (node, _no_tag(node))


def _wrong_key(node: yaml.MappingNode) -> tuple[yaml.Node, str] | None:
    seen: set[str] = set()
    for key, value in node.value:
        if _is_merge(key):
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(each, yaml.MappingNode) for each in merged):
                return value, "<< merges only mappings: name the anchor of one"
        elif not isinstance(key, yaml.ScalarNode):
            return key, f"a field has a name: write text before the colon{_OR_QUOTE if key.flow_style else ''}"
        elif key.tag in {f"{_CORE_TAG}bool", f"{_CORE_TAG}null"}:
            return key, f'YAML takes {key.value or "nothing"} for a value, and no name: write "{key.value}", in quotes'
        elif key.value in seen:
            return key, f"{visible(key.value)} is written twice: leave one of them out"
        else:
            seen.add(key.value)
    return None


def _wrong_scalar(node: yaml.ScalarNode) -> tuple[yaml.Node, str] | None:
    if node.tag not in _SCALARS:
        return node, _no_tag(node)
    if any("\ud800" <= each <= "\udfff" for each in node.value):
        return node, "this has half of a surrogate pair, which is not a character: write all of it"
    try:
        _SCALARS[node.tag](node.value)
    except (ValueError, KeyError):
        return node, f"this does not have the type {node.tag.removeprefix(_CORE_TAG)}: remove the tag before it"
    return None


def _no_tag(node: yaml.Node) -> str:
    tag = node.tag.replace(_CORE_TAG, "!!")
    return f"the tag {tag} means nothing to Kubernetes: remove it"
