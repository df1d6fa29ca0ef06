"""`--set PATH=VALUE`: a field that the command line sets. `--set --seed=3`: an argument of the training program."""

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import yaml

from qtj.files.yaml_reader import documents_of, value_of
from qtj.terminal.errors import InputError
from qtj.terminal.text import visible
from qtj_operator.api.reading import dotted
from qtj_operator.api.spelling import meant
from qtj_operator.manifests.program_arguments import set_argument

__all__ = ["Setting"]

_TOKEN = re.compile(r"\.?(?P<name>[A-Za-z0-9_-]+)|\[(?P<index>\d{1,6})\]|\['(?P<quoted>[^']+)'\]")
_OPTION = re.compile(r"--[A-Za-z0-9][A-Za-z0-9_-]*")
_ROOTS = ("metadata", "spec")


@dataclass(frozen=True, slots=True)
class Setting:
    """One `--set`.

    Attributes:
        text: What the user wrote.
        path: The field; of an argument, only the option itself.
        value: Its value.
        node: The value as it was written; None if it is empty.
    """

    text: str
    path: tuple[int | str, ...]
    value: Any
    node: yaml.Node | None = None

    @property
    def name(self) -> str:
        """The name of the option in messages."""
        return f"--set {visible(self.text)}"

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """Reads PATH=VALUE; the value is YAML.

        Raises:
            InputError: It is not of this form.
        """
        name, equals, value = text.partition("=")
        if _OPTION.fullmatch(name) and equals:
            return cls(text, (name,), value)
        tokens = list(_TOKEN.finditer(name))
        if not equals or not tokens or "".join(token[0] for token in tokens) != name:
            raise InputError(f"--set {visible(text)}: write PATH=VALUE, for example {_EXAMPLE}")
        path = tuple(int(t["index"]) if t["index"] else t["name"] or t["quoted"] for t in tokens)
        if path[0] not in _ROOTS or len(path) == 1:
            what = f"a path begins with metadata. or spec., for example {_EXAMPLE}{meant(path[0], _ROOTS)}"
            raise InputError(f"--set {visible(text)}: {what}")
        node = _node_of(text, value)
        return cls(text, path, None if node is None else value_of(node), node)

    def apply(self, manifest: dict[str, Any]) -> None:
        """Sets the field, and creates its parents where they are missing.

        Raises:
            InputError: The path leads through something that has no such field.
        """
        if self.path[0] not in _ROOTS:
            if not set_argument(manifest, str(self.path[0]), str(self.value)):
                raise InputError(f"{self.name}: no template of this job has containers, and so no arguments: add one")
            return
        here: Any = manifest
        for depth, part in enumerate(self.path):
            self._check(here, depth, part)
            if depth + 1 == len(self.path):
                here[part] = deepcopy(self.value)
            else:
                if isinstance(part, str) and here.get(part) is None:
                    here[part] = {}
                here = here[part]

    def _check(self, here: object, depth: int, part: int | str) -> None:
        path = dotted(self.path[:depth])
        if isinstance(part, str) and isinstance(here, list):
            raise InputError(f"{self.name}: {path} is a list: name one of its elements, for example {path}[0].{part}")
        if isinstance(part, str) and not isinstance(here, dict):
            raise InputError(f"{self.name}: {path} is not an object, so it has no fields: correct the path")
        if isinstance(part, int) and not isinstance(here, list):
            raise InputError(f"{self.name}: {path} is not a list, so it has no element {part}: correct the path")
        if isinstance(part, int) and isinstance(here, list) and part >= len(here):
            last = f"its last one is [{len(here) - 1}]" if here else "it is empty"
            raise InputError(f"{self.name}: {path} has no element {part}: {last}")


_EXAMPLE = "spec.replicaSpecs.Worker.replicas=4"


def _node_of(text: str, value: str) -> yaml.Node | None:
    try:
        nodes = list(documents_of("value", value))
    except InputError:
        nodes = []
        problem = True
    else:
        problem = len(nodes) > 1
    if problem:
        raise InputError(f"--set {visible(text)}: {visible(value)} is not a value in YAML: quote it")
    return nodes[0] if nodes else None
