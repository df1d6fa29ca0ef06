"""Tables and handles, as a text and in a notebook."""

from typing import Any

import pandas as pd  # type: ignore[import-untyped]

import qtj
from tests.local.laptop import Laptop, toy_job

ROWS: list[dict[str, Any]] = [
    {"epoch": 1, "loss": 0.5, "accuracy": None},
    {"epoch": 2, "loss": None, "accuracy": None, "<b>": "<i>"},
]


def test_a_table_has_the_columns_that_have_a_value() -> None:
    table = qtj.Table(ROWS, ["one line cannot be read"])

    assert table.columns == ["epoch", "loss", "<b>"]
    assert table.column("loss") == [0.5, None]
    assert pd.DataFrame(table).shape == (2, 3)
    assert repr(table).splitlines() == [
        "epoch   loss   <b>",
        "1       0.5    -",
        "2       -      <i>",
        "one line cannot be read",
    ]
    assert "<td>&lt;i&gt;</td>" in table._repr_html_()
    assert "<i>" not in table._repr_html_()


def test_an_empty_table_says_so() -> None:
    assert (repr(qtj.Table()), qtj.Table().columns, len(pd.DataFrame(qtj.Table()))) == ("no rows", [], 0)


def test_a_notebook_shows_a_job_again_and_again(laptop: Laptop, shown: list[str]) -> None:
    laptop.write(toy_job(10))

    qtj.Job.from_file("job.yaml").run().follow()

    assert len(shown) > 1
    assert "<strong>toy/1 is Complete</strong>" in shown[-1]
    assert all(text.startswith("<div>") and text.endswith("</div>") for text in shown)
