"""The usual mistakes in a text that is to be YAML: each is told in plain words, with the line where it is."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj.files.yaml_reader import documents_of
from qtj.terminal.errors import InputError
from tests.cli.good_job import GOOD
from tests.cli.test_yaml import NAMELESS, refusal

NO_SPACE = "a colon without a space after it: write NAME: VALUE"
NO_DASH_SPACE = "a dash without a space after it: write - VALUE"
SECOND_COLON = "a second colon in one line: put the value in quotes, or begin a new line"
UNFITTING = "the indentation of this line matches no line above it: line it up with the fields that it belongs to"
BEHIND = "there is text after the closing quote: put all of the value in quotes"
NO_COMMA = "a comma is missing here, or the {} before it: write it"
NO_LINE_COMMA = "there is no comma at the end of this line, and no {}: write one of them"
MISALIGNED_DASH = "this dash does not line up with a list above it: indent it as the other elements are"


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("a:\n  b: 1\n\tc: 2", 3, "a tab is where only spaces are allowed: put spaces in its place"),
        ("a:\n  b:1\n  c: 2\n", 2, NO_SPACE),
        ("a: 1\nb:2\n", 2, NO_SPACE),
        ("a:\n  - b:1\n    c: 2\n", 2, NO_SPACE),
        ("metadata\n  name: x\n", 1, "there is no colon in this line, and the next one has fields: write metadata:"),
        (
            "a: 1\nname x\nb: 2\n",
            2,
            "there is no colon in this line: write NAME: VALUE, or indent it as text of the line above",
        ),
        ("a: b: c\n", 1, SECOND_COLON),
        ("message: error: it broke\n", 1, SECOND_COLON),
        ('a: "x\nb: 2\n', 1, 'the quote " that begins in this line has no end: close it'),
        ("a: 1\nb: 'x\nc: 2\n", 2, "the quote ' that begins in this line has no end: close it"),
        ('a: "x\nb: "y"\nc: 3\n', 1, "the quote that begins in this line does not end in it: close it"),
        ("a: 'it's'\n", 1, BEHIND),
        ('a: "x" y\n', 1, BEHIND),
        ("a: [1, 2\nb: 3\n", 1, NO_LINE_COMMA.format("]")),
        ("a: {b: 1\nc: 2\n", 1, NO_LINE_COMMA.format("}")),
        ('{"a": 1\n "b": 2}\n', 1, NO_LINE_COMMA.format("}")),
        ("a: [1, 2\n", 1, "the [ that begins in this line has no end: close it with ]"),
        ("a: [\n", 1, "the [ that begins in this line has no end: close it with ]"),
        ("a: [\n---\nx: 1\n", 1, "the [ that begins in this line has no end: close it with ]"),
        ("a: [[1], {b: 2,\n\n", 1, "the { that begins in this line has no end: close it with }"),
        ("a: [,1]\n", 1, "there is no value before this comma: write one, or remove the comma"),
        ("a: {b: 1,\n  c: 2\n", 1, "the { that begins in this line has no end: close it with }"),
        ('a: ["x" "y"]\n', 1, NO_COMMA.format("]")),
        ("a: [1}\n", 1, "this } closes a [: write ]"),
        ("a: [1]]\n", 1, "this ] closes nothing: remove it, or write the [ that it belongs to"),
        ("a:\n    b: 1\n  c: 2\n", 3, UNFITTING),
        ("a:\n  - b: 1\n   c: 2\n", 3, UNFITTING),
        ("a: |\n  x\n y\nb: 1\n", 3, UNFITTING),
        ("a: 1\n  b: 2\n", 2, "this is indented further than the field above it, which has a value: line the two up"),
        ("  a: 1\nb: 2\n", 2, "this is indented less than the first line of the document: line the two up"),
        ("a: 1\n- b\n", 2, MISALIGNED_DASH),
        ("a:\n  - b: 1\n - c: 2\n", 3, MISALIGNED_DASH),
        ("a: - b\n", 1, "a list begins on its own line: move the dash to the next line"),
        ("a:\n  - c\n  -b\n", 3, NO_DASH_SPACE),
        ("a:\n  - c: 1\n  -b: 2\n", 3, NO_DASH_SPACE),
        (
            "a:\n  - b: 1\n  c: 2\n",
            3,
            "a field is where an element of the list has to be: begin it with - , or indent it",
        ),
        ("a: @x\n", 1, "a value cannot begin with @: put it in quotes"),
        ("a: `x`\n", 1, "a value cannot begin with `: put it in quotes"),
        ("a: %x\n", 1, "a value cannot begin with %: put it in quotes"),
        ("%x: 1\n", 1, "a line cannot begin with %: put the value in quotes"),
        ("a: *.csv\n", 1, "a value cannot begin with *: put it in quotes"),
        ("a: && y\n", 1, "a value cannot begin with &: put it in quotes"),
        ("a: !!\n", 1, "a value cannot begin with !: put it in quotes"),
        ("a: ]\n", 1, "a value cannot begin with ]: put it in quotes"),
        ("a: *b\n", 1, 'no value before it has the anchor &b: write the value, or put "*b" in quotes'),
        ("a: &x 1\nb: &x 2\n", 2, "the anchor &x is given twice: give one of them another name"),
        ("a: | text\n  b\n", 1, "after | and > the text begins in the next line: move it there"),
        (
            'a: "\\d"\n',
            1,
            "in double quotes, \\d has no meaning: write \\\\ for a backslash, or put the value in single quotes",
        ),
        (": x\na: 1", 1, "there is no name before the colon: write one"),
        (
            "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n",
            2,
            "this is a line of a merge conflict: keep one of the two versions",
        ),
        ("a: ?\n", 1, "mapping keys are not allowed here: correct this line, or the one above it"),
    ],
)
def test_a_mistake_is_told_where_it_is_and_with_what_to_do(text: str, line: int, sentence: str) -> None:
    assert refusal(text) == f"it:{line}: this is not YAML: {sentence}"
    assert refusal(f"x: 1\n---\n{text}") == f"it:{line + 2}: this is not YAML: {sentence}", "in a later document"


def test_a_template_is_told_to_be_none_of_ours() -> None:
    assert refusal("a: {{ .Values.x }}\n") == f"it:1: {NAMELESS}"


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\u2028"])
def test_lines_are_counted_whatever_ends_them(ending: str) -> None:
    assert refusal(ending.join(["a: 1", "b: @x", ""])).startswith("it:2: ")
    assert refusal(ending.join(["a: 1", "b:2", "c: 1"])) == f"it:2: this is not YAML: {NO_SPACE}"


@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD)), st.sampled_from(["", *"\t\n :-[]{}'\"#&*!|>%@`,?~\\\u2028", "---\n"]))
    )
)
def test_a_file_with_any_slips_is_read_or_told_in_sentences_with_a_line(slips: list[tuple[int, str]]) -> None:
    text = GOOD
    for place, slip in slips:
        text = text[:place] + slip + text[place + 1 :]

    with suppress(InputError):
        list(documents_of("it", text))
        return
    lines = refusal(text).split("\n")

    assert all(re.fullmatch(r"it:\d+: .{10,}", line) for line in lines), lines
    assert max(int(line.split(":")[1]) for line in lines) <= len(re.split("[\n\u2028]", text))
