"""What commands print for other programs: `-o json|yaml|name`, in the same way for all commands.

One object is printed as it is, several as a List, as kubectl does. `name` is one name for each line.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml

__all__ = ["Output", "OutputFormat", "formatted", "kubectl_name"]

Printable = Mapping[str, Any]


class OutputFormat(StrEnum):
    """A format that programs read."""

    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Output = Annotated[
    OutputFormat | None,
    typer.Option("--output", "-o", help="Print this to stdout for programs to read, and nothing else."),
]


def kubectl_name(obj: Printable) -> str:
    """Returns the name of an object as `kubectl get -o name` writes it."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    kind = str(obj["kind"]).lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if group and version else f"{kind}/{obj['metadata']['name']}"


def formatted(
    objects: Sequence[Printable],
    output_format: OutputFormat,
    *,
    name: Callable[[Printable], str] = kubectl_name,
    as_list: bool = False,
) -> str:
    """Returns objects as a program reads them.

    Args:
        objects: What to print.
        output_format: The format.
        name: Returns the name of an object.
        as_list: Whether one object is a List too, as for a command that lists objects.
    """
    if output_format == OutputFormat.NAME:
        return "\n".join(map(name, objects))
    whole = objects[0] if len(objects) == 1 and not as_list else _list_of(objects)
    if output_format == OutputFormat.JSON:
        return json.dumps(whole, indent=4, sort_keys=True)
    text: str = yaml.safe_dump(json.loads(json.dumps(whole)), sort_keys=False, width=120)
    return text.rstrip("\n")


def _list_of(objects: Sequence[Printable]) -> Printable:
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}
