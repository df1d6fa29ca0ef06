"""The programs of the GitOps tests: those that `python -m tools.cluster tools kstatus argocd` builds."""

from pathlib import Path

from tests.missing import skip_or_fail
from tools.cluster.tools import Group, program


def find_program(group: Group, name: str) -> str:
    """Returns the path of a built program; without one the test is skipped, or fails where everything must run."""
    path = program(group, name)
    if not Path(path).exists():
        skip_or_fail(f"there is no {name} to test with: build it with `python -m tools.cluster tools {group.name}`")
    return path
