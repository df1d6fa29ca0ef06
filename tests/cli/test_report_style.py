"""The style of the pages: every text and every curve can be told from what is behind it, light and dark."""

import re
from importlib import resources

import pytest

STYLE = resources.files("qtj_report").joinpath("page.css").read_text("utf-8")
PARTS = STYLE.split("@media")[:2]
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#\w{6});", part)) for part in PARTS)


def luminance(color: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *((front, back) for front in ("text", "muted") for back in ("page", "surface")),
        *((front, f"{front}-back") for front in ("good", "bad", "other")),
    ],
)
def test_text_can_be_read(colors: dict[str, str], front: str, back: str) -> None:
    assert contrast(colors[front], colors[back]) >= 4.5


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("number", range(6))
def test_curves_can_be_seen(colors: dict[str, str], number: int) -> None:
    assert contrast(colors[f"c{number}"], colors["surface"]) >= 4.5


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("kind", ["right", "wrong"])
def test_counts_can_be_read_on_the_strongest_colour(colors: dict[str, str], kind: str) -> None:
    [rgb] = re.findall(rf"--{kind}: (\d+) (\d+) (\d+);", PARTS[0 if colors is LIGHT else 1])
    behind = [int(colors["surface"][at : at + 2], 16) for at in (1, 3, 5)]
    mixed = "#" + "".join(f"{round(0.4 * int(a) + 0.6 * b):02x}" for a, b in zip(rgb, behind, strict=True))

    assert contrast(colors["text"], mixed) >= 4.5
