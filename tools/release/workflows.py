"""Checks the workflows of .github: `make check-workflows`."""

import subprocess
import sys
from pathlib import Path

from tools.cluster.paths import REPO
from tools.cluster.tools import actionlint


def findings(*files: Path) -> str:
    """Returns what actionlint finds in these workflows, or in all of .github; empty when all is well."""
    # Without the programs that some machines have and others lack, so that all machines find the same.
    command = [actionlint(), "-no-color", "-shellcheck=", "-pyflakes=", *map(str, files)]
    return subprocess.run(command, cwd=REPO, stdout=subprocess.PIPE, text=True, check=False).stdout


if __name__ == "__main__":
    sys.exit(findings() or 0)
