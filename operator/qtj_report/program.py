"""The section with the programs of the user's own: their arguments, and their text, folded."""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from qtj_contract.origin import Origin
from qtj_contract.program_source import ProgramSource
from qtj_report.element import Child, node
from qtj_report.parts import facts, listing, section

__all__ = ["program_section"]

_MOST_CHARACTERS = 200_000
"""Of the text of one file: a page is to open quickly."""


def program_section(programs: Mapping[str, ProgramSource], origin: Origin) -> Element:
    """Returns the section of at least one program, with where it comes from."""
    arguments: dict[str, Child] = {path: " ".join(each.arguments) or "no arguments" for path, each in programs.items()}
    return section("Program", facts({**arguments, **origin.facts()}), *_texts(programs))


def _texts(programs: Mapping[str, ProgramSource]) -> Iterator[Element]:
    for name, text in {name: text for each in programs.values() for name, text in each.code.items()}.items():
        rest = len(text) - _MOST_CHARACTERS
        cut = [node("p", f"{rest} more characters are in the folder source of the artifacts.")] if rest > 0 else []
        yield node("details", node("summary", name), listing(text[:_MOST_CHARACTERS], name), *cut)
