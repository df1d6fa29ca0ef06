"""What a test does without a program that it needs."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tools.cluster.tools import Group, program


def skip_or_fail(sentence: str) -> NoReturn:
    """Skips the test on a machine that lacks something; where everything must run, in CI, the test fails.

    Args:
        sentence: What is missing, and how to get it.
    """
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)


def find_program(group: Group, name: str) -> str:
    """Returns the path of a program that `python -m tools.cluster tools` builds; see `skip_or_fail`."""
    path = program(group, name)
    if not Path(path).exists():
        skip_or_fail(f"there is no {name} to test with: build it with `python -m tools.cluster tools {group.name}`")
    return path
