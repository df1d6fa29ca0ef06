"""Helm, and a real API server for the tests that install something."""

from pathlib import Path

import pytest

from tests.controller.conftest import programs
from tests.deploy.chart import Helm
from tests.missing import find_program
from tools.api_server import Programs
from tools.cluster.tools import HELM

__all__ = ["programs"]


@pytest.fixture
def helm(programs: Programs, tmp_path: Path) -> Helm:
    """Helm with a home of its own, and no cluster."""
    return Helm(find_program(HELM, "helm"), programs, tmp_path)
