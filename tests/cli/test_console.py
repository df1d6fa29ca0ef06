"""Output to a terminal that is closed, a pipe that nobody reads, a disk that is full."""

import errno
import io
import os
import re
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from rich.progress import Progress

from qtj.runs.line_view import view_for
from qtj.terminal.console import safe_console, safe_stream
from tests.cli.viewed import job


class Terminal:
    """A pseudo-terminal: what is written on `stream` is on the screen."""

    def __init__(self) -> None:
        self._is_open = True
        self._screen, slave = os.openpty()
        tty.setraw(slave)
        self.stream = os.fdopen(slave, "w", encoding="utf-8")

    def close(self) -> None:
        """Shuts the window."""
        if self._is_open:
            os.close(self._screen)
        self._is_open = False

    def shown(self) -> str:
        return os.read(self._screen, 1 << 16).decode()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with closing(Terminal()) as terminal, terminal.stream:
        yield terminal


def test_a_terminal_shows_what_is_written(terminal: Terminal) -> None:
    where = safe_stream(terminal.stream)

    where.write("épochs\n")

    assert terminal.shown() == "épochs\n"
    assert where.isatty()


def test_a_closed_terminal_is_told_once_and_nothing_is_raised(terminal: Terminal) -> None:
    lost: list[OSError] = []
    where = safe_console(terminal.stream, lost.append)

    terminal.close()
    for _ in range(3):
        where.print("still training")

    assert [problem.errno for problem in lost] == [errno.EIO]
    assert where.is_terminal, "rich goes on as on a terminal"


def test_a_bar_outlives_its_terminal(terminal: Terminal) -> None:
    lost = Event()
    where = safe_console(terminal.stream, lambda _: lost.set())

    with Progress(console=where, refresh_per_second=50) as bars:
        task = bars.add_task("training", total=3)
        terminal.close()
        assert lost.wait(20), "the thread that draws has met the closed terminal; what it raised would fail this test"
        bars.advance(task)

    assert bars.finished is False


def test_a_pipe_without_a_reader_is_told_once_and_nothing_is_raised() -> None:
    reader, writer = os.pipe()
    lost: list[OSError] = []
    with os.fdopen(writer, "w") as stream:
        where = safe_console(stream, lost.append)

        os.close(reader)
        for _ in range(3):
            where.print("still training")

    assert [problem.errno for problem in lost] == [errno.EPIPE]


def test_a_full_disk_is_told_once_and_nothing_is_raised() -> None:
    lost: list[OSError] = []
    with Path("/dev/full").open("w") as stream:
        where = safe_console(stream, lost.append)

        for _ in range(3):
            where.print("still training")

    assert [problem.errno for problem in lost] == [errno.ENOSPC]


def test_a_terminal_that_another_program_made_non_blocking_gets_everything() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "x" * 300_000

    with ThreadPoolExecutor() as pool, os.fdopen(reader, "rb") as slow:
        read = pool.submit(slow.read)
        with os.fdopen(writer, "w") as stream:
            safe_stream(stream).write(text)

    assert read.result() == text.encode()


def test_a_stream_that_was_closed_from_the_start_takes_everything() -> None:
    safe_stream(None).write("nobody sees this")

    assert not safe_console(None).is_terminal


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_colours_that_are_forced_draw_no_rows_into_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("TERM", "xterm")
    with (tmp_path / "out").open("w") as stream, view_for(safe_console(stream), bell=True) as view:
        view.show_change(job())

    assert re.fullmatch(r" +\d+\.\d s  qcnn  running\n", (tmp_path / "out").read_text())


def test_what_the_encoding_cannot_write_is_escaped(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        safe_console(stream).print("naïve ━ [bold] :x:")

    assert (tmp_path / "out").read_text() == "na\\xefve \\u2501 [bold] :x:\n"


def test_a_stream_in_memory_stays_as_it_is() -> None:
    paper = io.StringIO()

    assert safe_stream(paper) is paper
