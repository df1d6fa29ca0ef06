"""Thousands of wrong files: each is valid or told in sentences with their lines, and never a traceback."""

import re
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from qtj.checks.job import check_file
from qtj.create.convert import as_yaml, convert_file
from qtj.files.documents import read_file
from qtj.terminal.errors import InputError
from qtj_operator.api.crd import crd
from tests.cli.mutations import examples, mutated, refused
from tests.cli.test_convert import TFJOB

MANY = settings(
    max_examples=250,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SCHEMA = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
PYDANTIC = re.compile(
    r"[Ii]nput should|[Ff]ield required|should (match|have)|Value error|Extra inputs|Keys should|valid (string|integer)"
)
LINE = re.compile(r"\S*?job\.yaml(:\d+)?: (?P<path>[^:]+)(: .+)?")


def check_sentences(problem: InputError) -> None:
    lines = str(problem).split("\n")
    matched = [LINE.fullmatch(line) for line in lines]

    assert all(matched), lines
    assert not PYDANTIC.search(str(problem)), lines
    assert all(line.isprintable() for line in lines), lines
    paths = Counter(each["path"] for each in matched if each)
    assert max(paths.values()) == 1, lines


@pytest.mark.parametrize("here", [True, False])
def test_a_mutated_example_is_valid_or_told_in_sentences(tmp_path: Path, here: bool) -> None:
    path = tmp_path / "job.yaml"
    outcomes: Counter[bool] = Counter()

    @MANY
    @given(mutated(examples()))
    def holds(job: Any) -> None:
        path.write_text(yaml.safe_dump(job, allow_unicode=True))
        try:
            file = read_file(path)
            check_file(file, here=here)
        except InputError as problem:
            outcomes[False] += 1
            check_sentences(problem)
        else:
            outcomes[True] += 1
            manifest = file.jobs[0].manifest
            manifest.pop("status", None)  # as an API server does, where it is a subresource
            assert list(refused(manifest, SCHEMA)) == []

    holds()

    assert min(outcomes.values()) > 10, "both ends are seen"


def test_a_mutated_tfjob_is_converted_or_told_in_sentences(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"

    @MANY
    @given(mutated([TFJOB]))
    def holds(tfjob: Any) -> None:
        path.write_text(yaml.safe_dump(tfjob, allow_unicode=True))
        try:
            done = convert_file(path, None)
        except InputError as problem:
            check_sentences(problem)
        else:
            assert as_yaml(deepcopy(done)).startswith("apiVersion: ")
            assert not any(PYDANTIC.search(note) for each in done for note in each.notes)

    holds()


def test_the_examples_are_what_the_schema_accepts() -> None:
    for job in examples():
        assert list(refused(job, SCHEMA)) == []
