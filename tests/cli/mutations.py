"""Job files as hurried people write them: a good one in which some fields are gone, misspelt, or of another type."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from tools.release.version import TRAINER_IMAGE

EXAMPLES = Path(__file__).parents[2] / "examples"

Place = tuple[Any, int | str]
"""An object or a list, and where in it."""

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    float("inf"),
    "",
    "x",
    "A b",
    "a\nb",
    "\x1b[31m",
    "é=\u2028",
    "x" * 300,
    "gs://bucket/x",
    [],
    {},
    [None],
    ["x", 1],
    [[]],
    {"x": None},
    {"a b": {"c": 1}},
    {"name": "x"},
    [{"name": "x"}],
    [{"name": 1}, {"name": "x", "image": "y"}],
)
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
}


def examples() -> list[Any]:
    """The jobs of the examples; with an image that is not the trainer's, which would be asked each time."""
    found = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        text = path.read_text().replace(TRAINER_IMAGE, "registry.example/mine:1")
        found += [each for each in yaml.safe_load_all(text) if each["kind"] == "QuantumTrainingJob"]
    return found


def places(value: Any) -> list[Place]:
    """Returns all places in an object, from the outside in."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@st.composite
def mutated(draw: st.DrawFn, originals: list[Any]) -> Any:
    """Draws one of the objects, with some mistakes in it."""
    result = deepcopy(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 3))):
        found = places(result)
        if found:
            around, key = draw(st.sampled_from(found))
            _mutate(draw, around, key)
    return result


def _mutate(draw: st.DrawFn, around: Any, key: int | str) -> None:
    match draw(st.sampled_from(["drop", "retype", "retype", "misspell", "list", "object", "add"])):
        case "drop":
            del around[key]
        case "retype":
            around[key] = deepcopy(draw(st.sampled_from(ODD)))
        case "misspell" if isinstance(key, str):
            wrong = draw(st.sampled_from([key.lower(), key[:-1], key + "s", key[1:] + key[:1], "zzz", f"{key}_x"]))
            around[wrong] = around.pop(key)
        case "list":
            around[key] = [around[key]]
        case "object":
            around[key] = {"x": around[key]}
        case "add" if isinstance(around, dict):
            added = draw(st.sampled_from(["labels", "env", "template", "status", "1", "on", "a b"]))
            around[added] = deepcopy(draw(st.sampled_from(ODD)))


def refused(value: Any, schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """Yields what the schema refuses. A null in an object counts as left out, as by `PruneNonNullableNulls...`."""
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield f"{where}: {value!r} is no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], str(value)):
        yield f"{where}: {value!r} does not match"
    yield from _limits(value, schema, where)
    yield from _below(value, schema, where)


def _below(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if value.get(name) is None)
        for name, below in schema.get("properties", {}).items():
            if value.get(name) is not None:
                yield from refused(value[name], below, f"{where}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from refused(item, schema["items"], f"{where}[{index}]")


def _limits(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    sizes: dict[str, Callable[[Any], float]] = {"Length": len, "Items": len, "imum": float}
    for name, size in sizes.items():
        lowest, highest = (schema.get(f"{end}{name}") for end in ("min", "max"))
        if (lowest is not None and size(value) < lowest) or (highest is not None and size(value) > highest):
            yield f"{where}: {value!r} is beyond its limits"
