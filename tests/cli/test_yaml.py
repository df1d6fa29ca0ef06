"""YAML as kubectl reads it, within bounds: a hostile or surprising file is told in a sentence, and soon."""

import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from qtj.files.yaml_reader import documents_of, value_of
from qtj.terminal.errors import InputError
from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj
from tests.local.laptop import QTJ

REPOSITORY = Path(__file__).parents[2]
NAMELESS = "a field has a name: write text before the colon, or put a value that begins with { or [ in quotes"


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
