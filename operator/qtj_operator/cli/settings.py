"""`--set PATH=VALUE`: a field that the command line gives another value."""

import re
from dataclasses import dataclass
from typing import Any

import yaml

from qtj_operator.api.reading import dotted
from qtj_operator.cli.errors import InputError

__all__ = ["Setting"]

_TOKEN = re.compile(r"\.?(?P<name>[A-Za-z0-9_-]+)|\[(?P<index>\d+)\]|\['(?P<quoted>[^']+)'\]")


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them.

    Attributes:
        text: What the user wrote.
        path: The field.
        value: Its value.
    """

    text: str
    path: tuple[int | str, ...]
    value: Any

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """Reads PATH=VALUE; the value is YAML.

        Raises:
            InputError: It is something else.
        """
        name, equals, value = text.partition("=")
        tokens = list(_TOKEN.finditer(name))
        if not equals or not tokens or "".join(token[0] for token in tokens) != name:
            raise InputError(f"--set {text}: write PATH=VALUE, for example spec.replicaSpecs.Worker.replicas=4")
        path = tuple(int(t["index"]) if t["index"] else t["name"] or t["quoted"] for t in tokens)
        if path[0] not in {"metadata", "spec"} or len(path) == 1:
            raise InputError(f"--set {text}: a path begins with metadata. or spec., for example spec.suspend=false")
        try:
            return cls(text, path, yaml.safe_load(value))
        except yaml.YAMLError:
            raise InputError(f"--set {text}: {value} is no value in YAML: quote it") from None

    def apply(self, manifest: dict[str, Any]) -> None:
        """Sets the field, and makes the objects around it where they are missing.

        Raises:
            InputError: The path leads through something that has no such field.
        """
        here: Any = manifest
        for depth, part in enumerate(self.path):
            self._check(here, depth, part)
            if depth + 1 == len(self.path):
                here[part] = self.value
            else:
                if isinstance(part, str) and here.get(part) is None:
                    here[part] = {}
                here = here[part]

    def _check(self, here: object, depth: int, part: int | str) -> None:
        if isinstance(part, str) and not isinstance(here, dict):
            raise InputError(f"--set {self.text}: {dotted(self.path[:depth])} is no object, so it has no fields")
        if isinstance(part, int) and not (isinstance(here, list) and part < len(here)):
            raise InputError(f"--set {self.text}: {dotted(self.path[:depth])} has no element {part}")
