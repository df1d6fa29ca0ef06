"""ConfigMaps and Secrets beside a job are refused where an API server would refuse them."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj


def told(folder: Path, *documents: str) -> list[str]:
    (folder / "job.yaml").write_text("---\n".join([GOOD, *(f"apiVersion: v1\n{each}\n" for each in documents)]))
    return qtj("validate", "job.yaml").sentences


@pytest.mark.parametrize(
    ("kind", "written", "sentence"),
    [
        ("ConfigMap", "data: {epochs: 3}", 'data.epochs: this has to be text: write "3", in quotes'),
        ("ConfigMap", "data: {debug: no}", 'data.debug: this has to be text: write "no", in quotes'),
        ("ConfigMap", "data: {a: [b]}", "data.a: this has to be text: put it in quotes"),
        ("ConfigMap", "data: [a]", "data: this has to be a mapping: write its fields below it"),
        ("ConfigMap", "data: {a b: c}", 'data.a b: "a b" is not a key'),
        ("ConfigMap", "data: {..a: c}", 'data...a: "..a" is not a key'),
        (
            "ConfigMap",
            f"data: {{a: {'x' * 1_048_577}}}",
            "data: this is 1,048,577 bytes, and a ConfigMap",
        ),
        ("Secret", "stringData: {epochs: 3}", 'stringData.epochs: this has to be text: write "3", in quotes'),
        ("Secret", "data: {a: plain}", "data.a: values here are base64: write plain text in stringData"),
        ("Secret", "data: {a: 3}", 'data.a: this has to be text: write "3", in quotes'),
    ],
)
def test_data_that_kubernetes_refuses_are_told(folder: Path, kind: str, written: str, sentence: str) -> None:
    sentences = told(folder, f"kind: {kind}\nmetadata: {{name: it}}\n{written}")

    assert [each.startswith(f"job.yaml:28: {sentence}") for each in sentences] == [True]


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ("{}", "metadata.name: give the ConfigMap a name"),
        ("[a]", "metadata.name: give the ConfigMap a name"),
        ("{name: 3}", 'metadata.name: this has to be text: write "3", in quotes'),
        ("{name: A}", 'metadata.name: "A" may have only a-z, 0-9, - and dots'),
    ],
)
def test_a_name_that_kubernetes_refuses_is_told(folder: Path, metadata: str, sentence: str) -> None:
    (told_,) = told(folder, f"kind: ConfigMap\nmetadata: {metadata}")

    assert told_.startswith(f"job.yaml:27: {sentence}")


def test_every_config_has_its_say(folder: Path) -> None:
    maps = [f"kind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{c: 1, d: 2}}" for name in "ab"]

    assert [line.split(":")[1] for line in told(folder, *maps)] == ["28", "28", "33", "33"]


def test_empty_and_numbered_keys_are_fine(folder: Path) -> None:
    secret = "kind: Secret\nmetadata: {name: it}\ndata: {1: aGk=, empty: }\nstringData: {a: b}"

    assert told(folder, secret, "kind: ConfigMap\nmetadata: {name: x.y}\ndata:\n") == []
