"""Helm, and a real API server for the tests that install something."""

from pathlib import Path

import pytest

from tests.controller.conftest import programs
from tests.deploy.chart import Helm
from tests.missing import skip_or_fail
from tools.api_server import Programs
from tools.cluster import tools

__all__ = ["programs"]


@pytest.fixture
def helm(programs: Programs, tmp_path: Path) -> Helm:
    """Helm with a home of its own, and no cluster."""
    if not Path(tools.helm()).exists():
        skip_or_fail("Helm is not built: `python -m tools.cluster tools helm`")
    return Helm(tools.helm(), programs, tmp_path)
