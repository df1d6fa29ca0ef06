"""Elements of HTML and SVG, the parts of a page, and a whole file around them; text is escaped when it is written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from importlib.metadata import PackageNotFoundError
from xml.etree.ElementTree import Element, tostring

from qtj_contract.printable import visible
from qtj_contract.version import installed_version
from qtj_report.wording import moment

__all__ = ["Child", "card", "document", "facts", "listing", "markup", "node", "picture_style", "section", "table"]

Child = Element | str | None


def node(tag: str, *children: Child, **attributes: str | float | None) -> Element:
    """Returns an element.

    Args:
        tag: Its name.
        children: Elements and text, in order; None is left out.
        attributes: Their names in Python: `class_` for class, `aria_label` for aria-label. One of None is left out.
    """
    made = Element(tag, {_name(key): visible(str(value)) for key, value in attributes.items() if value is not None})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif child:
            _add_text(made, visible(child))
    return made


def markup(root: Element) -> str:
    """Returns an element as text."""
    return tostring(root, encoding="unicode", method="html")


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def section(title: str, *content: Child, class_: str | None = None) -> Element:
    """Returns a section of the page."""
    return node("section", node("h2", title), *content, class_=class_)


def card(name: str, value: str, note: str = "") -> Element:
    """Returns one of the most important numbers, with its name and a note."""
    return node("div", node("dt", name), node("dd", value), node("dd", note, class_="note"), class_="card")


def facts(of: Mapping[str, Child], class_: str = "facts") -> Element:
    """Returns names and their values, as a list in columns."""
    rows = (node("div", node("dt", name), node("dd", value)) for name, value in of.items())
    return node("dl", *rows, class_=class_)


def table(headings: Sequence[str], rows: Iterable[Sequence[Child]], *, numbers: Sequence[int] = ()) -> Element:
    """Returns a table that can be scrolled if it is too wide; the first cell of a row is its name.

    Args:
        headings: The names of the columns.
        rows: The rows, as long as the headings.
        numbers: The columns of numbers, which are aligned to the right. If the last column is none of them, it has
            sentences, and on a phone it is below the others.
    """
    classes = ["number" if column in numbers else None for column in range(len(headings))]
    head = node(
        "tr", *(node("th", name, scope="col", class_=kind) for name, kind in zip(headings, classes, strict=True))
    )
    body = [_row(row, classes) for row in rows]
    prose = {"class_": "prose", "style": f"--columns: {len(headings) - 1}"} if classes[-1] is None else {}
    return _scrolled(node("table", node("thead", head), node("tbody", *body), **prose))


def listing(text: str, name: str) -> Element:
    """Returns text of fixed width, such as a file, that can be scrolled if it is too large."""
    columns = max(map(len, text.splitlines()), default=1)
    return node("pre", text, tabindex="0", role="region", aria_label=name, style=f"--columns: {columns}")


def _row(cells: Sequence[Child], classes: Sequence[str | None]) -> Element:
    first, *others = zip(cells, classes, strict=True)
    return node("tr", node("th", first[0], scope="row"), *(node("td", cell, class_=kind) for cell, kind in others))


def _scrolled(content: Element) -> Element:
    return node("div", content, class_="scrolled", tabindex="0")


def document(title: str, content: Sequence[Element | None], written: datetime) -> str:
    """Returns a file of HTML that needs no other file.

    Args:
        title: The title of the window.
        content: What the page shows; None is left out.
        written: The time of writing.
    """
    head = node(
        "head",
        node("meta", charset="utf-8"),
        node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        node("meta", name="color-scheme", content="light dark"),
        node("title", title),
        node("style", page_style()),
    )
    footer = node("footer", f"Written by qtj {_version()} on {moment(written)}")
    page = node("html", head, node("body", node("main", *content), footer), lang="en")
    return f"<!DOCTYPE html>\n{markup(page)}\n"


def _version() -> str:
    try:
        return installed_version()
    except PackageNotFoundError:  # run from its sources
        return "from sources"


def page_style() -> str:
    """Returns the style of a page, light or dark as its reader likes it."""
    return _sheet("chart.css") + _sheet("page.css")


def picture_style() -> str:
    """Returns the style of charts alone, with the light colours: few programs but browsers know variables."""
    light = dict(re.findall(r"(--[\w-]+): ([^;]+);", _sheet("page.css").partition("@media")[0]))
    return re.sub(r"var\((--[\w-]+)\)", lambda named: light[named[1]], _sheet("chart.css"))


def _sheet(name: str) -> str:
    return resources.files(__package__ or "").joinpath(name).read_text("utf-8")
