"""What runs are compared by, and which of it differs: for the page and for the text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qtj_report.content import Content

__all__ = ["COMPARED", "differing_names"]

COMPARED: Mapping[str, Callable[[Content], Mapping[str, Any]]] = {
    "Options": lambda run: run.record.options,
    "Versions": lambda run: run.versions,
    "Origins": lambda run: run.origin.facts(),
}


def differing_names(values: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Returns the names whose values differ between runs; what one of them has not recorded is None."""
    names = sorted({name for each in values for name in each})
    return [name for name in names if any(each.get(name) != values[0].get(name) for each in values)]
