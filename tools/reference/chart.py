"""The page of the chart's values: their defaults and comments from values.yaml, and what is allowed from the schema."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_ROOT = Path(__file__).parents[2]
CHART_VALUES = _ROOT / "docs/reference/chart.md"
_CHART = _ROOT / "deploy/helm"
_LINE = re.compile(r"(?P<indent> *)(?P<name>[A-Za-z]+):(?: (?P<value>[^#]\S*(?: (?!# ).*?)?))?(?: *# (?P<comment>.*))?")

_HEAD = """# Values of the chart

Generated from [values.yaml](../../deploy/helm/values.yaml) and its schema by `make reference`; do not edit.
[Helm](../operations/install.md#helm) says how to install the chart, and which settings are for what.

| value | default | allowed | meaning |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the chart, or a group of them.

    Attributes:
        path: Its name, with those of the groups that it is in.
        default: Its default as YAML; empty for a group.
        meaning: The comment above it, and the one beside it.
    """

    path: tuple[str, ...]
    default: str
    meaning: str


def chart_values() -> str:
    """Returns the page."""
    schema = json.loads((_CHART / "values.schema.json").read_text())
    rows = (
        _row(each, schema) for each in settings((_CHART / "values.yaml").read_text()) if each.default or each.meaning
    )
    return _HEAD + "\n".join(rows) + "\n"


def settings(text: str) -> Iterator[Setting]:
    """Yields all settings of a values.yaml, in its order.

    Raises:
        ValueError: A line has a form that is not expected, so the page would be wrong.
    """
    path: tuple[str, ...] = ()
    above: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            above = []
        elif line.lstrip().startswith("#"):
            above.append(line.lstrip("# "))
        elif found := _LINE.fullmatch(line):
            path = (*path[: len(found["indent"]) // 2], found["name"])
            yield Setting(path, _default(text, path, found["value"] or ""), _sentence(*above, found["comment"] or ""))
            above = []
        else:
            raise ValueError(f"values.yaml: {line!r} is no name with a value in one line")


def _default(text: str, path: tuple[str, ...], written: str) -> str:
    value = yaml.safe_load(text)
    for name in path:
        value = value[name]
    if written and yaml.safe_load(written) != value:
        raise ValueError(f"values.yaml: {'.'.join(path)} is {value!r}, and was read as {written}")
    return written


def _sentence(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _row(setting: Setting, schema: Mapping[str, Any]) -> str:
    meaning = setting.meaning.replace("|", "\\|")
    default = f"`{setting.default}`" if setting.default else ""
    return f"| `{'.'.join(setting.path)}` | {default} | {_allowed(setting.path, schema)} | {meaning} |"


def _allowed(path: tuple[str, ...], schema: Mapping[str, Any]) -> str:
    """Returns the type of a value, or the words that it may be; empty where the schema asks for more than one type."""
    found = schema
    for name in path:
        found = _resolved(found.get("properties", {}).get(name, {}), schema)
    if "enum" in found:
        return ", ".join(f"`{json.dumps(each)}`" if each == "" else f"`{each}`" for each in found["enum"])
    types = found.get("type", "")
    return types if isinstance(types, str) else " or ".join(types)


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    resolved: Mapping[str, Any] = schema["definitions"][part["$ref"].rpartition("/")[2]]
    return resolved
