"""Checks the workflows of .github: `make check-workflows`."""

import subprocess
import sys

from tests.cluster.paths import REPO
from tests.cluster.tools import actionlint

__all__ = ["main"]


def main() -> int:
    """Returns actionlint's exit code; what it finds is on stdout."""
    # Without programs that some machines have and others lack, so that all machines find the same.
    return subprocess.run([actionlint(), "-shellcheck=", "-pyflakes="], cwd=REPO, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
