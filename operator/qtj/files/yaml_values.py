"""The values of plain YAML scalars as kubectl reads them.

Source: `resolve` of kubectl's library (go.yaml.in/yaml/v2). Unlike with PyYAML, y and n are booleans, 0o17 and 1e3 are
numbers, and a date and 1:30 are text.
"""

import re
from collections.abc import Callable, Mapping
from math import isinf
from typing import Any

import yaml

__all__ = ["CORE_TAG", "SCALARS", "KubectlDumper", "KubectlLoader", "is_merge"]

CORE_TAG = "tag:yaml.org,2002:"

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
"""For each type the pattern of its plain scalars, and the characters that they begin with."""


class KubectlLoader(yaml.SafeLoader):
    """Gives plain scalars the tags of the types that kubectl reads them as."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own way


for _name, (_pattern, _first) in _PLAIN.items():
    KubectlLoader.add_implicit_resolver(f"{CORE_TAG}{_name}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


class KubectlDumper(yaml.SafeDumper):
    """Puts text in quotes that kubectl would read as something else, such as 1e-3, and keeps lines as they are."""

    yaml_implicit_resolvers = KubectlLoader.yaml_implicit_resolvers

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Represents text; several lines as a block, unless YAML would change them."""
        return self.represent_scalar(f"{CORE_TAG}str", text, style="|" if "\n" in text else None)


KubectlDumper.add_representer(str, KubectlDumper.represent_str)


def is_merge(key: yaml.Node) -> bool:
    """Returns whether a key is `<<`, which merges other mappings into its own."""
    return key.tag == f"{CORE_TAG}merge"


def _number(text: str) -> int | float | str:
    """Returns the number that a text means; a number that does not fit into 64 bits is text, as for kubectl."""
    plain = text.replace("_", "").lower()
    octal = re.sub(r"^([-+]?)0(?=[0-7]+$)", r"\g<1>0o", plain)
    try:
        whole = int(octal, 0)
    except ValueError:  # a fraction, or more digits than Python reads
        whole = None
    if whole is not None and -(2**63) <= whole < 2**64:
        return whole
    if whole is not None and not plain.lstrip("+-").isdecimal():  # a large number in another base than ten
        return text
    number = float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    if number.is_integer() and abs(number) < 2**63:
        return int(number)  # kubectl sends JSON, in which 2.0 and 2e0 are 2
    return text if isinf(number) and "inf" not in plain else number


SCALARS: Mapping[str, Callable[[str], Any]] = {
    f"{CORE_TAG}str": str,
    f"{CORE_TAG}null": lambda _: None,
    f"{CORE_TAG}bool": lambda text: {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}[text.lower()],
    f"{CORE_TAG}int": _number,
    f"{CORE_TAG}float": _number,
    f"{CORE_TAG}merge": str,
}
"""Reads the text of a scalar, by its tag. Raises ValueError or KeyError where the text is not of that type."""
