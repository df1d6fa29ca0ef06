"""Checks of a YAML document before its values are used: its size, and anything that has no meaning for Kubernetes."""

from collections.abc import Iterator

import yaml

from qtj.files.yaml_values import CORE_TAG, SCALARS, is_merge
from qtj.terminal.errors import InputError
from qtj.terminal.text import visible
from qtj_operator.api.limits import LEVELS

__all__ = ["MOST_VALUES", "TOO_DEEP", "TOO_MANY", "check_document"]

MOST_VALUES = 100_000
"""The most values of a file, and of a document with its aliases expanded. A large job has some hundreds."""
TOO_DEEP = f"this is nested too deeply: use at most {LEVELS} levels"
TOO_MANY = f"there are more than {MOST_VALUES:,} values here, with aliases expanded: write fewer"

_OR_QUOTE = ", or put a value that begins with { or [ in quotes"


def check_document(name: str, root: yaml.Node) -> None:
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
            refuse(node, TOO_DEEP)
        if id(node) not in sizes:
            if (wrong := _wrong(node)) is not None:
                refuse(*wrong)
            sizes[id(node)] = 1 + sum(size(each, (*above, node)) for each in _values(node))
            if sizes[id(node)] > MOST_VALUES:
                refuse(node, TOO_MANY)
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
    return None if node.tag == f"{CORE_TAG}{kind}" else (node, _no_tag(node))


def _wrong_key(node: yaml.MappingNode) -> tuple[yaml.Node, str] | None:
    seen: set[str] = set()
    for key, value in node.value:
        if is_merge(key):
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(each, yaml.MappingNode) for each in merged):
                return value, "<< merges only mappings: name the anchor of one"
        elif not isinstance(key, yaml.ScalarNode):
            return key, f"a field has a name: write text before the colon{_OR_QUOTE if key.flow_style else ''}"
        elif key.tag in {f"{CORE_TAG}bool", f"{CORE_TAG}null"}:
            return key, f'YAML takes {key.value or "nothing"} for a value, and no name: write "{key.value}", in quotes'
        elif key.value in seen:
            return key, f"{visible(key.value)} is written twice: leave one of them out"
        else:
            seen.add(key.value)
    return None


def _wrong_scalar(node: yaml.ScalarNode) -> tuple[yaml.Node, str] | None:
    if node.tag not in SCALARS:
        return node, _no_tag(node)
    if any("\ud800" <= each <= "\udfff" for each in node.value):
        return node, "this has half of a surrogate pair, which is not a character: write all of it"
    try:
        SCALARS[node.tag](node.value)
    except (ValueError, KeyError):
        return node, f"this does not have the type {node.tag.removeprefix(CORE_TAG)}: remove the tag before it"
    return None


def _no_tag(node: yaml.Node) -> str:
    tag = node.tag.replace(CORE_TAG, "!!")
    return f"the tag {tag} means nothing to Kubernetes: remove it"
