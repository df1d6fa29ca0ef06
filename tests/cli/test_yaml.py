"""YAML as kubectl reads it, within bounds: a hostile file, or a usual mistake, is told in a sentence, and soon."""

import os
import re
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj.files.yaml_reader import documents_of, value_of
from qtj.terminal.errors import InputError
from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj
from tests.local.laptop import QTJ

REPOSITORY = Path(__file__).parents[2]
NAMELESS = "a field has a name: write text before the colon, or put a value that begins with { or [ in quotes"
NO_SPACE = "a colon without a space after it: write NAME: VALUE"
NO_DASH_SPACE = "a dash without a space after it: write - VALUE"
SECOND_COLON = "a second colon in one line: put the value in quotes, or begin a new line"
UNFITTING = "the indentation of this line matches no line above it: line it up with the fields that it belongs to"
BEHIND = "there is text after the closing quote: put all of the value in quotes"
NO_COMMA = "a comma is missing here, or the {} before it: write it"
NO_LINE_COMMA = "there is no comma at the end of this line, and no {}: write one of them"
MISALIGNED_DASH = "this dash does not line up with a list above it: indent it as the other elements are"


def read(text: str) -> object:
    (node,) = documents_of("it", text)
    return value_of(node)


def refusal(text: str) -> str:
    with pytest.raises(InputError) as refused:
        list(documents_of("it", text))
    return str(refused.value)


def laughs(*, by: str) -> str:
    """A billion values in a few lines."""
    levels = [f"a{n}: &a{n} {by.replace('*', f'*a{n - 1}')}" for n in range(1, 31)]
    return "\n".join(["a0: &a0 {x: y}", *levels])


@pytest.mark.parametrize("by", ["[*, *]", "{b: *, c: *}", "{<<: [*, *]}", "[[*, *]]"])
def test_aliases_are_counted_before_they_are_written_out(by: str) -> None:
    assert refusal(laughs(by=by)).endswith(
        "there are more than 100,000 values here, with aliases expanded: write fewer"
    )


def test_a_value_that_is_used_again_is_a_value_of_its_own() -> None:
    first = read("{a: &x {c: [1]}, b: *x}")

    assert first == {"a": {"c": [1]}, "b": {"c": [1]}}
    assert isinstance(first, dict)
    assert first["a"]["c"] is not first["b"]["c"]


def test_merged_fields_give_way_to_written_ones() -> None:
    text = "{a: &a {u: 1, v: 1}, b: &b {v: 2, w: 2}, c: {<<: [*a, *b], u: 3}}"

    read_ = read(text)

    assert isinstance(read_, dict)
    assert read_["c"] == {"u": 3, "v": 1, "w": 2}


@pytest.mark.parametrize(
    ("plain", "value"),
    [
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
        ("y", True),
        ("Off", False),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("08", 8),
        ("1e3", 1000),
        ("1.", 1),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("1.2.3", "1.2.3"),
        ("~", None),
        ("", None),
        ("nUll", "nUll"),
        ("2Gi", "2Gi"),
        ("=", "="),
        ("'1'", "1"),
        ("!!str 1", "1"),
        (f"1e{'9' * 400}", f"1e{'9' * 400}"),
        ("9" * 5000, "9" * 5000),
        (f"0x{'f' * 5000}", f"0x{'f' * 5000}"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
    ],
)
def test_a_plain_value_means_what_kubectl_takes_it_for(plain: str, value: object) -> None:
    """As `resolve` of go.yaml.in/yaml/v2 says; that dates are text follows from sigs.k8s.io/yaml's way to JSON."""
    found = read(f"a: {plain}")

    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\n\tb: 2", "it:2: this is not YAML: a tab is where only spaces are allowed: put spaces in its place"),
        ("a: 1\nb: \0", "it:2: this holds the character U+0000, which YAML does not allow: remove it"),
        ("a:\n  on: 1", 'it:2: YAML takes on for a value, and no name: write "on", in quotes'),
        (
            "a:\n  ? [b]\n  : c",
            f"it:2: {NAMELESS}",
        ),
        ("a: !!int x", "it:1: this does not have the type int: remove the tag before it"),
        ("a: !!bool x", "it:1: this does not have the type bool: remove the tag before it"),
        ("a: !!binary aGk=", "it:1: the tag !!binary means nothing to Kubernetes: remove it"),
        ("a: !x {}", "it:1: the tag !x means nothing to Kubernetes: remove it"),
        ("a: !!set {x}", "it:1: the tag !!set means nothing to Kubernetes: remove it"),
        (
            'a: "\\ud800"',
            "it:1: this has half of a surrogate pair, which is not a character: write all of it",
        ),
        ("a: {<<: 1}", "it:1: << merges only mappings: name the anchor of one"),
        (f"a: {'[' * 120}{']' * 120}", "it:1: this is nested too deeply: use at most 100 levels"),
        (f"a: {'[' * 100_000}", "it: this is nested too deeply: use at most 100 levels"),
        (f"[{'1,' * 100_001}]", "it:1: there are more than 100,000 values here, with aliases expanded: write fewer"),
    ],
)
def test_what_kubernetes_could_make_nothing_of_is_told(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_files_of_other_systems_are_read(folder: Path, change: object) -> None:
    assert callable(change)
    (folder / "job.yaml").write_text(change(GOOD.replace("qubits: 8", "qubits: 1")), newline="")

    assert qtj("validate", "job.yaml").sentences == [
        "job.yaml:8: spec.circuit.qubits: 1 is too small: this has to be at least 4"
    ]


def test_a_file_in_another_encoding_is_a_sentence(folder: Path) -> None:
    (folder / "job.yaml").write_bytes(GOOD.replace("blue", "grün").encode("latin-1"))

    assert qtj("validate", "job.yaml").sentences == [
        "job.yaml:23: this is not text in UTF-8: save the file as UTF-8",
    ]


@pytest.mark.parametrize("endless", ["/dev/zero", "huge.yaml"])
def test_no_more_is_read_than_an_api_server_takes(folder: Path, endless: str) -> None:
    with (folder / "huge.yaml").open("wb") as file:
        file.truncate(10**12)

    assert qtj("validate", endless).sentences == [
        f"{endless}: this has more than 3 MiB, which no API server takes: shorten it"
    ]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "command", [["validate"], ["run", "--dry-run"], ["submit", "--local", "--dry-run"], ["plan"], ["render"]]
)
def test_a_job_comes_through_a_pipe(folder: Path, command: list[str]) -> None:
    job = (REPOSITORY / "examples/qcnn.yaml").read_text()

    assert "qcnn" in through_pipe(folder, job, command)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("command", [["validate"], ["run", "--dry-run"], ["submit", "--local", "--dry-run"]])
def test_a_study_comes_through_a_pipe(folder: Path, command: list[str]) -> None:
    study = (REPOSITORY / "examples/studies/learning-rate.yaml").read_text()

    said = through_pipe(folder, study, command)

    assert re.search("(with )?15 trials", said)


def through_pipe(folder: Path, text: str, command: list[str]) -> str:
    """Returns what a command says about a file that can be read once."""
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_text, args=[text])
    writer.start()

    answer = qtj(*command, "pipe")
    writer.join()

    assert answer.code == 0, answer.output
    return answer.output


def test_a_study_comes_through_stdin(folder: Path) -> None:
    study = (REPOSITORY / "examples/studies/learning-rate.yaml").read_text()

    told = subprocess.run([*QTJ, "validate", "-"], input=study, capture_output=True, text=True, check=True, cwd=folder)

    assert told.stdout == "<stdin>: learning-rate is valid, with 15 trials\n"


def test_a_job_comes_through_stdin(folder: Path) -> None:
    wrong = subprocess.run(
        [*QTJ, "validate", "-"], input=GOOD.replace("8", "1"), capture_output=True, text=True, check=False, cwd=folder
    )

    assert wrong.returncode == 2
    assert wrong.stderr == "qtj: <stdin>:8: spec.circuit.qubits: 1 is too small: this has to be at least 4\n"


def test_a_pipe_from_a_command_that_failed_is_said_to_be_empty(folder: Path) -> None:
    empty = subprocess.run([*QTJ, "validate", "-"], input="", capture_output=True, text=True, check=False, cwd=folder)

    assert empty.returncode == 2
    assert empty.stderr == "qtj: <stdin>: there is nothing: see whether the command before the pipe has failed\n"


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
