"""YAML as kubectl reads it: plain values alone, within bounds, and every field written once.

kubectl's library (go.yaml.in/yaml/v2, `resolve`) differs from PyYAML: a date and 1:30 are text, y and n are truths.
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

__all__ = ["documents_of", "value_of"]

_MOST_VALUES = 100_000
"""Values of a file, and those of a document once its aliases are written out. A large job has some hundreds."""
_DEEPEST = 100
"""Levels of a document. A pod has some twenty."""
_MOST_BROKEN = 20
"""Documents of a file that are told not to be YAML: more of them say nothing new."""

_CORE = "tag:yaml.org,2002:"
_OR_QUOTE = ", or put a value that begins with { or [ in quotes"
_TOO_DEEP = f"this is nested too deeply: write it with at most {_DEEPEST} levels"
_TOO_MANY = f"these are more than {_MOST_VALUES:,} values, aliases written out: write fewer"

_TRUE, _FALSE = ("y", "yes", "true", "on"), ("n", "no", "false", "off")
_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
"""Begins a document wherever it stands: no text in quotes and no block may hold it."""
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
"""What a value without quotes may be, and how it begins."""


class _Loader(yaml.SafeLoader):
    """Composes nodes with kubectl's idea of plain values, and not endlessly many."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own way

    def __init__(self, text: str, line: int, values: Iterator[int]) -> None:
        super().__init__(text)
        self.line = line  # of the Reader: where the text begins in its file
        self._values = values

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401
        if next(self._values) > _MOST_VALUES:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _TooManyError(problem=_TOO_MANY, problem_mark=mark)
        return super().compose_node(parent, index)


class _TooManyError(yaml.MarkedYAMLError):
    """The file has more values than are read."""


for _name, (_pattern, _first) in _PLAIN.items():
    _Loader.add_implicit_resolver(f"{_CORE}{_name}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


def documents_of(name: str, text: str) -> Iterator[yaml.Node]:
    """Yields the documents of a text that have something in them and can be read; see `value_of`.

    Args:
        name: What the text is called in messages.
        text: The text.

    Raises:
        InputError: After the last of them: some are not YAML, or mean nothing to Kubernetes; a line for each.
    """
    wrong: list[str] = []
    values = itertools.count(1)
    for line, piece in _pieces(text):
        try:
            for node in _composed(piece, line, values):
                _check(name, node)
                yield node
        except InputError as problem:
            wrong.append(str(problem))
        except RecursionError:
            wrong.append(f"{name}: {_TOO_DEEP}")
        except yaml.YAMLError as problem:
            at, sentence = _explained(problem, piece, line)
            wrong.append(f"{name}:{at + 1}: {sentence}")
            if isinstance(problem, _TooManyError) or len(wrong) >= _MOST_BROKEN:
                break
    if wrong:
        raise InputError("\n".join(wrong))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yields the documents as they are written, each with the number of lines before it."""
    begin, line, ends = 0, 0, [*(found.start() for found in _SEPARATOR.finditer(text)), len(text)]
    for before, end in itertools.pairwise((0, *ends)):
        if end == len(text) or not _ends_with_directive(text[before:end]):  # which belongs to the document after it
            yield line, text[begin:end]
            line += line_breaks(text[begin:end])
            begin = end


def _ends_with_directive(text: str) -> bool:
    said = (each for each in reversed(text.split("\n")) if each.strip() and not each.startswith("#"))
    return next(said, "").startswith("%")


def _composed(text: str, line: int, values: Iterator[int]) -> Iterator[yaml.Node]:
    """Yields the documents of a text that begins on a line of its file.

    Raises:
        yaml.YAMLError: One is not YAML.
    """
    loader = _Loader(text, line, values)
    try:
        while loader.check_node():
            if (node := loader.get_node()) is not None:
                yield node
    finally:
        loader.dispose()


def _explained(problem: yaml.YAMLError, text: str, line: int) -> tuple[int, str]:
    """Returns the line of a problem in its file, from 0, and the sentence on it."""
    if isinstance(problem, _TooManyError):
        return problem.problem_mark.line if problem.problem_mark else line, _TOO_MANY
    if isinstance(problem, yaml.MarkedYAMLError):
        return explained(problem, text, line)
    what = "this holds a character that YAML does not allow: remove it"
    if isinstance(problem, yaml.reader.ReaderError):
        what = f"this holds the character U+{int(problem.character):04X}, which YAML does not allow: remove it"
        line += line_breaks(text[: int(problem.position)])
    return line, what


def value_of(node: yaml.Node) -> Any:  # noqa: ANN401  JSON
    """Returns what a document of `documents_of` says, aliases written out: a change here is none there."""
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


def _check(name: str, root: yaml.Node) -> None:
    """Refuses what Kubernetes could make nothing of, before it is written out."""
    sizes: dict[int, int] = {}

    def refuse(node: yaml.Node, sentence: str) -> None:
        raise InputError(f"{name}:{node.start_mark.line + 1}: {sentence}")

    def size(node: yaml.Node, above: tuple[yaml.Node, ...]) -> int:
        """Returns how many values a node comes to; each node is looked at once, however many aliases it has."""
        if any(node is each for each in above):
            refuse(node, "this holds itself by its anchor: write it out")
        if len(above) >= _DEEPEST:
            refuse(node, _TOO_DEEP)
        if id(node) not in sizes:
            if (wrong := _wrong(node)) is not None:
                refuse(*wrong)
            sizes[id(node)] = 1 + sum(size(each, (*above, node)) for each in _below(node))
            if sizes[id(node)] > _MOST_VALUES:
                refuse(node, _TOO_MANY)
        return sizes[id(node)]

    size(root, ())


def _below(node: yaml.Node) -> Iterator[yaml.Node]:
    for each in node.value if not isinstance(node, yaml.ScalarNode) else ():
        yield each[1] if isinstance(node, yaml.MappingNode) else each


def _wrong(node: yaml.Node) -> tuple[yaml.Node, str] | None:
    """Returns the place and the sentence when a node itself is at fault, whatever is in it."""
    if isinstance(node, yaml.MappingNode):
        return _wrong_keys(node)
    if isinstance(node, yaml.ScalarNode):
        return _wrong_scalar(node)
    return None if node.tag == f"{_CORE}seq" else (node, _no_tag(node))


def _wrong_keys(node: yaml.MappingNode) -> tuple[yaml.Node, str] | None:
    seen: set[str] = set()
    for key, value in node.value:
        if _is_merge(key):
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(each, yaml.MappingNode) for each in merged):
                return value, "<< takes in mappings alone: name the anchor of one"
        elif not isinstance(key, yaml.ScalarNode):
            return key, f"a field has a name: write text before the colon{_OR_QUOTE if key.flow_style else ''}"
        elif key.tag in {f"{_CORE}bool", f"{_CORE}null"}:
            return key, f'YAML takes {key.value or "nothing"} for a value, and no name: write "{key.value}", in quotes'
        elif key.value in seen:
            return key, f"{visible(key.value)} is written twice: leave one of them out"
        else:
            seen.add(key.value)
    return None if node.tag == f"{_CORE}map" else (node, _no_tag(node))


def _wrong_scalar(node: yaml.ScalarNode) -> tuple[yaml.Node, str] | None:
    if node.tag not in _SCALARS:
        return node, _no_tag(node)
    if any("\ud800" <= each <= "\udfff" for each in node.value):
        return node, "this holds half of a surrogate pair, which is no character: write all of it"
    try:
        _SCALARS[node.tag](node.value)
    except (ValueError, KeyError):
        return node, f"this is no {node.tag.removeprefix(_CORE)}: remove the tag before it"
    return None


def _no_tag(node: yaml.Node) -> str:
    tag = node.tag.replace(_CORE, "!!")
    return f"the tag {tag} means nothing to Kubernetes: remove it"


def _is_merge(key: yaml.Node) -> bool:
    return key.tag == f"{_CORE}merge"


def _number(text: str) -> int | float | str:
    """Returns the number that a text stands for; one that no machine can hold is text, as for kubectl."""
    plain = text.replace("_", "").lower()
    octal = re.sub(r"^([-+]?)0(?=[0-7]+$)", r"\g<1>0o", plain)
    try:
        whole = int(octal, 0)
    except ValueError:  # a fraction, or more digits than Python reads
        whole = None
    if whole is not None and -(2**63) <= whole < 2**64:
        return whole
    if whole is not None and not plain.lstrip("+-").isdecimal():  # a large one in another base than ten
        return text
    number = float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    if number.is_integer() and abs(number) < 2**63:
        return int(number)  # kubectl sends JSON, in which 2.0 and 2e0 are 2
    return text if isinf(number) and "inf" not in plain else number


_SCALARS: Mapping[str, Callable[[str], Any]] = {
    f"{_CORE}str": str,
    f"{_CORE}null": lambda _: None,
    f"{_CORE}bool": lambda text: {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}[text.lower()],
    f"{_CORE}int": _number,
    f"{_CORE}float": _number,
    f"{_CORE}merge": str,
}
