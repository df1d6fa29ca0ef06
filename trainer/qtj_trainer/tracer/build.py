"""Builds the library of the tracer: `python -m qtj_trainer.tracer.build`; the wheels have it already."""

import subprocess
import sys

from qtj_simulator.fused.build import build_from
from qtj_trainer.tracer import LIBRARY, SOURCE

if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build_from(SOURCE, LIBRARY)}\n")
    except (FileNotFoundError, subprocess.CalledProcessError) as problem:
        sys.exit(f"error: the library of the tracer was not built: {problem}")
