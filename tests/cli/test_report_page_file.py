"""Where the page of a report is written, and what a run records for it while it runs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from qtj.local.activity import Activity, activities_of
from tests.cli.html_page import Page
from tests.cli.qtj import qtj
from tests.cli.test_report import Left

START = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture
def left(folder: Path) -> Left:
    return Left(folder)


def test_html_writes_the_page_alone_where_its_reader_wants_it(left: Left, folder: Path) -> None:
    left.record(left.status)

    answer = qtj("report", "own", "--html", "mine.html")

    assert (answer.code, answer.output) == (0, "page: mine.html\n")
    assert Page.read(folder / "mine.html").texts("h1") == ["own/1 ✓ Complete"]
    assert not left.page.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--html", "no/such/mine.html"],
            "cannot write the report to no/such/mine.html (No such file or directory): name another file with --html",
        ),
        (["--html", "."], "cannot write the report to . (Is a directory): name another file with --html"),
        (
            ["--html", "x.html", "-o", "json"],
            "--html writes a page, and -o and --scaling do not: leave one of them out",
        ),
        (["--html", "x.html", "--scaling"], "--html writes a page, and -o and --scaling do not: leave one of them out"),
    ],
)
def test_a_page_that_cannot_be_written_is_one_sentence(left: Left, words: list[str], sentence: str) -> None:
    left.record(left.status)

    answer = qtj("report", "own", *words)

    assert (answer.code, len(answer.sentences)) == (2, 1)
    assert answer.sentences[0].startswith(sentence)


def test_the_status_names_the_report_once_there_is_one(left: Left) -> None:
    left.record(left.status)
    before = qtj("status", "own").output

    left.report()

    assert "report.html" not in before
    assert f"report      {left.page}" in qtj("status", "own").output


def test_what_a_program_reports_is_recorded_each_time_it_changes(left: Left) -> None:
    activity = Activity(left.place)
    before = datetime.now(UTC)

    for said in ("compiling", "compiling", ""):
        activity.update(said)

    assert [said for _, said in activities_of(left.place)] == ["compiling", ""]
    assert all(before <= at <= datetime.now(UTC) for at, _ in activities_of(left.place))


def test_a_damaged_record_of_activities_loses_its_damaged_lines_alone(left: Left) -> None:
    good = '{"time": "2026-11-23T12:00:00Z", "activity": "compiling"}'
    bad = ("{", "[]", "3", '{"time": 3, "activity": "x"}', '{"time": "2026-11-23T12:00:00", "activity": ""}')
    (left.place / "activity.jsonl").write_text("\n".join((*bad, good, good[:20])))

    assert activities_of(left.place) == [(START, "compiling")]
