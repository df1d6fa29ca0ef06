"""The CRD's schema as an API server applies it to a new object; of the keywords those that this schema has."""

import re
from collections.abc import Callable, Iterator
from typing import Any

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
}


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
