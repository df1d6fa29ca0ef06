"""A whole file of HTML around the content of a page, and the style sheets."""

import re
from collections.abc import Sequence
from datetime import datetime
from importlib import resources
from importlib.metadata import PackageNotFoundError
from xml.etree.ElementTree import Element

from qtj_contract.version import installed_version
from qtj_report.element import markup, node
from qtj_report.wording import moment

__all__ = ["document", "picture_style"]


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
