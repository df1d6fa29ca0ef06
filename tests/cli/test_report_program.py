"""What a report shows of the user's own program: its arguments and text, and how two runs differ."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from qtj_contract.program_source import ProgramSource
from qtj_contract.stored_source import stored_files
from qtj_report.comparison_page import comparison_page
from qtj_report.content import Content, Repetition
from qtj_report.page import run_page
from tests.cli.qtj import qtj
from tests.cli.test_report import Left

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def source(text: str = "RATE = 0.1\n", *arguments: str) -> ProgramSource:
    return ProgramSource(script="iris.py", code={"iris.py": text}, data={}, arguments=arguments)


def content(title: str, *programs: ProgramSource) -> Content:
    again = Repetition("iris.yaml", "qtj run iris.yaml", "kind: QuantumTrainingJob")
    named = dict(zip(["iris.py"], programs, strict=False))
    return Content(title=title, phase="Complete", headline="done", programs=named, repetition=again)


def test_the_page_has_the_arguments_and_the_folded_text() -> None:
    page = run_page(content("iris/1", source("RATE = 0.1 < 1\n", "--seed", "0")), NOW)

    assert "<dt>iris.py</dt><dd>--seed 0</dd>" in page
    assert "<details><summary>iris.py</summary>" in page
    assert "RATE = 0.1 &lt; 1" in page
    assert "and run it and the program above." in page


def test_a_page_without_it_says_so_where_it_tells_how_to_repeat_the_run() -> None:
    page = run_page(content("iris/1"), NOW)

    assert "Its program is not recorded here" in page
    assert "<h2>Program</h2>" not in page


def test_what_differs_between_programs_comes_first() -> None:
    runs = [
        content("iris/1", source("RATE = 0.1\n", "--seed", "0")),
        content("iris/2", source("RATE = 0.2\n", "--seed", "1")),
        content("iris/3", source("RATE = 0.1\n", "--seed", "0")),
        content("iris/4"),
    ]

    page = comparison_page(runs, NOW)

    for words in (
        "--seed 0 -&gt; 1; iris.py changed: 1 line",
        "the same program and arguments",
        "its program is not recorded",
    ):
        assert f"<td>{words}</td>" in page
    assert page.index("<h2>Programs</h2>") < page.index("<h2>Results</h2>")


def test_a_column_that_no_run_has_a_number_for_is_left_out() -> None:
    page = comparison_page([content("iris/1", source()), content("iris/2", source())], NOW)

    assert "Held-out loss" not in page
    assert "<td>–</td>" not in page


def test_programs_are_told_what_the_program_was(folder: Path) -> None:
    left = Left(folder)
    for name, data in stored_files({"iris.py": source("RATE = 0.1\n", "--seed", "0")}, 1).items():
        (left.place / name).parent.mkdir(parents=True, exist_ok=True)
        (left.place / name).write_bytes(data)
    left.record(left.status)

    found = json.loads(qtj("report", "own", "-o", "json").output)

    digest = hashlib.sha256(b"RATE = 0.1\n").hexdigest()
    assert found["programs"] == {"iris.py": {"arguments": ["--seed", "0"], "code": {"iris.py": digest}, "data": {}}}
