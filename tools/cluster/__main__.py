"""`python3 -m tools.cluster`: a Kubernetes in one command."""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (the one check that must run on an older Python)
    sys.exit(f"this is Python {sys.version.split()[0]}: run it with Python 3.11 or newer (python3.11 -m tools.cluster)")

from .cli import main

sys.exit(main(sys.argv[1:]))
