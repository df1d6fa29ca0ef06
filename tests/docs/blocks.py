"""The code blocks and the inline code of the documentation, with the places where they are written."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.docs.files import ROOT, TOP

PAGES = (*(ROOT / name for name in TOP if name != "CHANGELOG.md"), *sorted((ROOT / "docs").rglob("*.md")))
"""All pages. The changelog is left out: it names what releases of the past had."""


@dataclass(frozen=True)
class Code:
    """Code on a page.

    Attributes:
        place: The page and the line, as PAGE:LINE.
        language: What the block is labelled with; empty for none.
    """

    place: str
    language: str
    text: str


@cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("gfm-like", {"linkify": False}).parse(page.read_text())


def blocks(page: Path) -> Iterator[Code]:
    """Yields the code blocks of a page, also those that are only indented."""
    for token in _tokens(page):
        if token.type in {"fence", "code_block"}:
            yield Code(_place(page, token), token.info.strip(), token.content)


def inline_code(page: Path) -> Iterator[Code]:
    """Yields what is written as code within the text of a page."""
    line = 0
    for token in _tokens(page):
        line = token.map[0] if token.map else line
        yield from (
            Code(f"{page.relative_to(ROOT)}:{line + 1}", "", child.content)
            for child in token.children or ()
            if child.type == "code_inline"
        )


def rows(page: Path) -> list[list[str]]:
    """Returns the rows of all tables of a page, without the rows of their heads."""
    found: list[list[str]] = []
    for token, after in pairwise(_tokens(page)):
        if token.type == "tr_open":
            found.append([])
        elif token.type == "td_open":
            found[-1].append(after.content)
    return [row for row in found if row]


def _place(page: Path, token: Token) -> str:
    return f"{page.relative_to(ROOT)}:{(token.map or [0])[0] + 1}"
