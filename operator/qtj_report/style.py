"""The style sheets."""

import re
from importlib import resources

__all__ = ["page_style", "picture_style"]


def page_style() -> str:
    """Returns the style of a page, light or dark as its reader likes it."""
    return _sheet("chart.css") + _sheet("page.css")


def picture_style() -> str:
    """Returns the style of charts alone, with the light colours: few programs but browsers know variables."""
    light = dict(re.findall(r"(--[\w-]+): ([^;]+);", _sheet("page.css").partition("@media")[0]))
    return re.sub(r"var\((--[\w-]+)\)", lambda named: light[named[1]], _sheet("chart.css"))


def _sheet(name: str) -> str:
    return resources.files(__package__ or "").joinpath(name).read_text("utf-8")
