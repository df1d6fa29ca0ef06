"""Damaged files of jobs: each is valid or told in sentences, and never ends in a traceback."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from qtj.checks.job import check_file
from qtj.create.convert import convert_file
from qtj.files.documents import read_file
from qtj.terminal.errors import InputError
from tests.cli.mutations import examples
from tests.cli.test_convert import TFJOB
from tests.fuzz.corpus import mutants, new_seed

pytestmark = pytest.mark.slow
COUNT = 1500
CORPUS = [
    *(yaml.safe_dump(job).encode() for job in [*examples(), TFJOB]),
    b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nspec: *c\n",
    b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {TOKEN: x}\n---\n",
]


@pytest.mark.parametrize(
    "reader",
    [lambda path: check_file(read_file(path)), lambda path: convert_file(path, None)],
    ids=["validate", "convert"],
)
def test_a_damaged_file_is_valid_or_told_in_sentences(tmp_path: Path, reader: Callable[[Path], object]) -> None:
    path, seed, told = tmp_path / "job.yaml", new_seed(), Counter[str]()

    for number, data in enumerate(mutants(CORPUS, COUNT, seed)):
        path.write_bytes(data)
        try:
            reader(path)
        except InputError as problem:
            told[str(problem)] += 1
        except BaseException as problem:
            raise AssertionError(f"seed {seed}, file {number}: {data[:2000]!r}") from problem

    assert 10 < sum(told.values()) < COUNT, "both ends are seen"
    lines = [line for sentences in told for line in sentences.split("\n")]
    assert [line for line in lines if not line or not line.isprintable()] == [], f"seed {seed}"
