"""Helm, and a real API server for the tests that install something."""

import os
from pathlib import Path

import pytest

from tests.cluster import tools
from tests.controller.apiserver import Programs
from tests.controller.conftest import programs
from tests.deploy.chart import Helm

__all__ = ["programs"]


@pytest.fixture
def helm(programs: Programs, tmp_path: Path) -> Helm:
    """Helm with a home of its own, and no cluster."""
    if not Path(tools.helm()).exists():
        sentence = "Helm is not built: `python -m tests.cluster tools helm`"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return Helm(tools.helm(), programs, tmp_path)
