"""What commands print for other programs: `-o json|yaml|name`, alike in all of them.

One object is printed as it is, several as a List, as kubectl does. `name` is one name for each line.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
import yaml

from qtj.terminal.text import visible

__all__ = ["Form", "Output", "drop_output", "formatted", "kubectl_name", "say", "say_on_stderr"]

Printable = Mapping[str, Any]


class Form(StrEnum):
    """A form that programs read."""

    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Output = Annotated[
    Form | None, typer.Option("--output", "-o", help="Print this to stdout for programs to read, and nothing else.")
]


def kubectl_name(obj: Printable) -> str:
    """Returns the name of an object as `kubectl get -o name` writes it."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    kind = str(obj["kind"]).lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if group and version else f"{kind}/{obj['metadata']['name']}"


def formatted(
    objects: Sequence[Printable],
    form: Form,
    *,
    name: Callable[[Printable], str] = kubectl_name,
    as_list: bool = False,
) -> str:
    """Returns objects as a program reads them.

    Args:
        objects: What to print.
        form: The form.
        name: Tells the name of an object.
        as_list: Whether one object is a List too, as of a command that lists what there is.
    """
    if form == Form.NAME:
        return "\n".join(map(name, objects))
    whole = objects[0] if len(objects) == 1 and not as_list else _list_of(objects)
    if form == Form.JSON:
        return json.dumps(whole, indent=4, sort_keys=True)
    text: str = yaml.safe_dump(json.loads(json.dumps(whole)), sort_keys=False, width=120)
    return text.rstrip("\n")


def say(text: str) -> None:
    """Writes lines to stdout, but for what a terminal would obey.

    The reader may have left, as `head` does: the command ends as it would have.
    """
    try:
        if text:
            typer.echo(visible(text))
    except BrokenPipeError:
        drop_output()


def say_on_stderr(text: str) -> None:
    """Writes lines to stderr, but for what a terminal would obey; nothing depends on whether they arrive."""
    try:
        typer.echo(visible(text), err=True)
    except OSError:
        drop_output(sys.stderr)


def drop_output(stream: TextIO | None = None) -> None:
    """Sends to nowhere what stdout, or another stream, still holds: the interpreter would try again at its end."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), (stream or sys.stdout).fileno())


def _list_of(objects: Sequence[Printable]) -> Printable:
    return {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}
