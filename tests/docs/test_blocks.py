"""Every code block of the documentation is of a kind that is checked, and passes this check."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, Code, blocks
from tests.docs.programs import is_built
from tests.docs.shell import commands
from tests.docs.yaml_blocks import mistakes
from tests.missing import skip_or_fail

BLOCKS = [code for page in PAGES for code in blocks(page)]
PYTHON = [code for code in BLOCKS if code.language == "python"]
YAML = [code for code in BLOCKS if code.language == "yaml"]
DOCUMENTS = [
    Code(code.place, "yaml", command.document)
    for code in BLOCKS
    if code.language == "console"
    for command in commands(code.text)
    if command.file.endswith(".yaml")
]
"""What commands write into YAML files."""

CHECKS = {
    "console": "its commands, in test_commands.py",
    "json": "it is JSON",
    "python": "it compiles, and what it imports exists",
    "text": "nothing: it is what a program prints",
    "yaml": "the product, and the models of Kubernetes",
}


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.place)
def test_the_kind_of_a_block_is_known(code: Code) -> None:
    assert code.language in CHECKS, f"{code.place}: write one of {', '.join(CHECKS)} behind ```"
    assert code.language != "text" or not code.text.startswith("$ "), "a block with commands is `console`"
    assert code.language != "console" or code.text.startswith(("$ ", ">>> ")), "a command has a prompt"


@pytest.mark.parametrize("code", YAML + DOCUMENTS, ids=lambda code: code.place)
def test_yaml_is_accepted_by_what_reads_it(code: Code, tmp_path: Path) -> None:
    assert mistakes(code.text, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("replicaSpecs: {Wroker: {}}", "replicaSpecs.Wroker"),
        ("runPolicy: {backoffLimit: many}", "runPolicy.backoffLimit"),
        ("args: [train, qcnn, --epoch=5]", "--epoch"),
        ("initContainers: [{name: proxy, imagee: x}]", "imagee"),
        ("{apiVersion: v1, kind: Secret, dta: {}}", "dta"),
        ("{apiVersion: v1, kind: Secrte}", "Secrte is no kind"),
        ("no_such_field: 1", "no object is known"),
        ("a: [", "this is no YAML"),
    ],
)
def test_a_mistake_in_yaml_is_found(text: str, mistake: str, tmp_path: Path) -> None:
    assert mistake in "\n".join(mistakes(text, tmp_path))


def test_a_mistake_in_a_kustomization_is_found(tmp_path: Path) -> None:
    if not is_built("kubectl"):
        skip_or_fail("kubectl is not built: `make test-command` builds it, where there is Go")

    assert "deploy/none" in "\n".join(mistakes("resources: [deploy/none]", tmp_path))


@pytest.mark.parametrize("code", [code for code in BLOCKS if code.language == "json"], ids=lambda code: code.place)
def test_json_can_be_read(code: Code) -> None:
    documents = [code.text] if code.text.startswith("{\n") else code.text.splitlines()

    assert [type(json.loads(each)) for each in documents] == [dict] * len(documents)


def parsed(text: str) -> ast.Module:
    """The program of a block; a block may also be the signature of a function."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.parse(f"def {text.strip()}: ...")


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.place)
def test_python_compiles(code: Code) -> None:
    assert parsed(code.text).body


def imports_of(text: str) -> Iterator[str]:
    yield from (ast.unparse(node) for node in ast.walk(parsed(text)) if isinstance(node, ast.Import | ast.ImportFrom))


def test_what_python_imports_exists() -> None:
    found = dict.fromkeys(line for code in PYTHON for line in imports_of(code.text))
    lines = [line for line in found if "torch" not in line]  # PyTorch has an environment of its own: `tests/torch`
    program = "import qtj_trainer\n" + "\n".join(lines)  # before TensorFlow: it chooses Keras 2

    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=300)

    assert (len(lines) > 4, ended.returncode, ended.stderr[-2000:] if ended.returncode else "") == (True, 0, "")
