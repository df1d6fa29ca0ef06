"""Names and texts of programs, which a stranger may have written, as Python shows them on a terminal."""

import io
from typing import Any

from rich.console import Console

from qtj.python.report import Report
from qtj.python.table import Table
from qtj.studies.view import study_view_for
from qtj_operator.api.study import StudySpec
from qtj_report.content import Content

TITLE = "\x1b]0;taken\x07"


def test_a_table_shows_escapes_as_text() -> None:
    shown = repr(Table([{TITLE: f"a{TITLE}"}], notes=[TITLE]))

    assert "\x1b" not in shown
    assert shown.count(r"\x1b]0;taken\x07") == 3


def test_a_report_shows_escapes_as_text() -> None:
    shown = repr(Report(Content(title="qcnn", phase="Complete", headline=TITLE)))

    assert "\x1b" not in shown
    assert r"\x1b]0;taken\x07" in shown


def test_the_live_table_of_a_study_shows_escapes_as_text() -> None:
    fields: dict[str, Any] = {"jobTemplate": {}, "parameters": [{"name": "rate", "values": [1]}]}
    spec = StudySpec.read({**fields, "objective": {"metric": TITLE}})
    text = io.StringIO()
    with study_view_for(Console(file=text, force_terminal=True, width=80), "rates", spec):
        pass

    assert "\x1b]" not in text.getvalue()
    assert r"\x1b]0;taken\x07" in text.getvalue()
