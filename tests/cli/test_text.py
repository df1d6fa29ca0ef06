"""Text of programs is text: it is shown, and nothing obeys it; also where a terminal, a pipe or a disk fails."""

import errno
import io
import os
import re
import subprocess
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from rich.cells import cell_len
from rich.progress import Progress

from qtj.runs.line_view import view_for
from qtj.terminal.console import print_text, safe_console, safe_stream
from qtj.terminal.text import log_on_terminal, shell_word, truncate, visible
from tests.cli.viewed import job

from .good_job import GOOD
from .qtj import qtj


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("loss 0.3 → 0.2, naïve, 量子, a b", "loss 0.3 → 0.2, naïve, 量子, a b"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("\x1b[2J", "\\x1b[2J"),
        ("100 %\rdone\b\b", "100 %\\rdone\\x08\\x08"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("file\udcff", "file\\udcff"),
        ("\x9b31m", "\\x9b31m"),
        ("first\n\tsecond", "first\n\tsecond"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(said: str, shown: str) -> None:
    assert visible(said) == shown


@pytest.mark.parametrize("command", ["validate", "plan", "render", "run"])
def test_no_command_hands_on_what_a_file_would_tell_the_terminal(command: str, tmp_path: Path) -> None:
    path = tmp_path / "job\x1b]0;owned\x07.yaml"
    path.write_text(GOOD.replace("name: qcnn", 'name: "q\\e[2Jcnn"'))

    answer = qtj(command, str(path))

    assert answer.code == 2
    assert "\\x1b]0;owned\\x07.yaml" in answer.errors
    assert [c for c in answer.output + answer.errors if not c.isprintable() and c != "\n"] == []


def test_neither_emoji_codes_nor_markup_of_a_program_mean_anything() -> None:
    paper = io.StringIO()

    print_text(safe_console(paper), "a[:x:] and [bold]b[/bold] and [link=http://x]c")

    assert paper.getvalue() == "a[:x:] and [bold]b[/bold] and [link=http://x]c\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"\x1b[1;31mred\x1b[0m\n", b"\x1b[1;31mred\x1b[0m\n"),
        (b"1/10\r2/10\tok\n", b"1/10\r2/10\tok\n"),
        (b"\x1b]0;owned\x07gone\x1b[2Jon\n", b"goneon\n"),
        (b"a\x08b\x00c\n", b"a b c\n"),
        ("ü\u202e\n".encode(), "ü \n".encode()),
        (b"\xff\n", "\ufffd\n".encode()),
    ],
)
def test_a_log_on_a_terminal_keeps_its_colours_and_loses_its_commands(written: bytes, shown: bytes) -> None:
    assert log_on_terminal(written) == shown


@pytest.mark.parametrize("text", ["qcnn", "a-long-name-of-a-job", "量子機械学習", "e\u0301te\u0301 a\u0300 Paris"])
@pytest.mark.parametrize("width", [0, 1, 2, 5, 8, 40])
def test_cut_text_never_takes_more_columns_than_there_are(text: str, width: int) -> None:
    assert cell_len(truncate(text, width)) <= width
    assert cell_len(truncate(text, width, "...")) <= width


def test_text_that_fits_is_not_cut() -> None:
    assert (truncate("qcnn", 4), truncate("qcnn-pure", 5)) == ("qcnn", "qcnn…")


@pytest.mark.parametrize("word", ["plain", "two words", "a\nb", "it's \x1b[1m", "back\\slash\t", "é\x85"])
def test_a_word_for_a_shell_is_shown_and_read_back_as_it_is(word: str) -> None:
    shown = shell_word(word)

    said = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, text=True, check=True).stdout
    assert shown.isprintable()
    assert said == word


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
