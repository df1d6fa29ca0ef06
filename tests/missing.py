"""What a test does without a program that it needs."""

import os
from typing import NoReturn

import pytest


def skip_or_fail(sentence: str) -> NoReturn:
    """Skips the test on a machine that lacks something; where everything must run, in CI, the test fails.

    Args:
        sentence: What is missing, and how to get it.
    """
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)
