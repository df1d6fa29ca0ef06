"""YAML as kubectl reads it: plain values alone, within bounds, and every field written once.

kubectl's library (go.yaml.in/yaml/v2, `resolve`) differs from PyYAML: a date and 1:30 are text, y and n are truths.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from math import isinf
from typing import Any

import yaml

from qtj_operator.cli.errors import InputError
from qtj_operator.cli.text import visible

__all__ = ["documents_of", "value_of"]

_MOST_VALUES = 100_000
"""Values of a file, and those of a document once its aliases are written out. A large job has some hundreds."""
_DEEPEST = 100
"""Levels of a document. A pod has some twenty."""

_CORE = "tag:yaml.org,2002:"
_TOO_DEEP = f"this is nested too deeply: write it with at most {_DEEPEST} levels"
_TOO_MANY = f"these are more than {_MOST_VALUES:,} values, aliases written out: write fewer"

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
"""What a value without quotes may be, and how it begins."""


class _Loader(yaml.SafeLoader):
    """Composes nodes with kubectl's idea of plain values, and not endlessly many."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own way

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401
        self._values += 1
        if self._values > _MOST_VALUES:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem=_TOO_MANY, problem_mark=mark)
        return super().compose_node(parent, index)


for _name, (_pattern, _first) in _PLAIN.items():
    _Loader.add_implicit_resolver(f"{_CORE}{_name}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


def documents_of(name: str, text: str) -> Iterator[yaml.Node]:
    """Yields the documents of a text that have something in them; see `value_of`.

    Args:
        name: What the text is called in messages.
        text: The text.

    Raises:
        InputError: It is not YAML, or means nothing to Kubernetes; with the line.
    """
    try:
        for node in yaml.compose_all(text, _Loader):
            if node is not None:
                _check(name, node)
                yield node
    except RecursionError:
        raise InputError(f"{name}: {_TOO_DEEP}") from None
    except yaml.MarkedYAMLError as problem:
        raise InputError(_told(name, problem)) from None
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, int(problem.position)) + 1
        what = f"this holds the character U+{int(problem.character):04X}, which YAML does not allow: remove it"
        raise InputError(f"{name}:{line}: {what}") from None


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


def _told(name: str, problem: yaml.MarkedYAMLError) -> str:
    mark = problem.problem_mark or problem.context_mark
    line = mark.line + 1 if mark else 1
    if problem.problem == _TOO_MANY:
        return f"{name}:{line}: {_TOO_MANY}"
    if "'\\t'" in str(problem.problem):
        return f"{name}:{line}: this is not YAML: a tab stands where only spaces may: put spaces in its place"
    return f"{name}:{line}: this is not YAML: {problem.problem}"


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
            return key, "a field has a name: write text before the colon"
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
    return text if isinf(number) and "inf" not in plain else number


_SCALARS: Mapping[str, Callable[[str], Any]] = {
    f"{_CORE}str": str,
    f"{_CORE}null": lambda _: None,
    f"{_CORE}bool": lambda text: {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}[text.lower()],
    f"{_CORE}int": _number,
    f"{_CORE}float": _number,
    f"{_CORE}merge": str,
}
