"""Text of programs is text: it is shown, and nothing obeys it."""

import io
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len

from qtj.terminal.console import print_text, safe_console
from qtj.terminal.text import log_on_terminal, shell_word, truncate, visible

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
