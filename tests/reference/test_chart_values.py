"""The page of the chart's values has each of them, with its default and its comments."""

import pytest
import yaml

from tools.reference.chart import CHART_VALUES, Setting, chart_values, settings

_VALUES = CHART_VALUES.parents[2] / "deploy/helm/values.yaml"
_SOME = """# About the file.

# Where it
# comes from.
image:
  tag: "" # the version, such as "1"
names: [a, b]

# Alone.
plain: 7
"""


def test_the_page_is_up_to_date() -> None:
    assert CHART_VALUES.read_text() == chart_values(), "run `make reference`"


def test_comments_above_and_beside_a_value_are_its_meaning() -> None:
    assert list(settings(_SOME)) == [
        Setting(("image",), "", "Where it comes from."),
        Setting(("image", "tag"), '""', 'the version, such as "1"'),
        Setting(("names",), "[a, b]", ""),
        Setting(("plain",), "7", "Alone."),
    ]


@pytest.mark.parametrize("line", ["- a", "name: >-", "two words: 1"])
def test_a_form_that_the_page_cannot_show_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"values\.yaml"):
        list(settings(f"{line}\n  text\n" if line.endswith("-") else f"{line}\n"))


def test_every_value_is_on_the_page() -> None:
    def leaves(values: dict[str, object], *above: str) -> set[str]:
        found = set()
        for name, value in values.items():
            below = leaves(value, *above, name) if isinstance(value, dict) and value else set()
            found |= below or {".".join((*above, name))}
        return found

    page = chart_values()
    shown = {row.split("`")[1] for row in page.splitlines() if row.startswith("| `")}
    missing = leaves(yaml.safe_load(_VALUES.read_text())) - shown
    assert all(any(each.startswith(f"{path}.") for path in shown) for each in missing), missing
