"""Checks a wheel that is to be published: `make wheel`."""

import re
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.cluster.images import project_version

__all__ = ["faults", "main"]

_LIBRARIES = ("libqtj_fused.so", "libqtj_op.so", "libqtj_tracer.so")


def faults(wheel: Path) -> list[str]:
    """Returns what is wrong with a wheel, one sentence each."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    found = [f"it has no {library}" for library in _LIBRARIES if not any(name.endswith(library) for name in names)]
    if not wheel.name.startswith(f"quantumtrainingjob-{project_version()}-py3-none-"):
        found.append(f"it is not of version {project_version()} for every Python 3")
    if not re.search(r"manylinux_2_\d+_(x86_64|aarch64)\.whl$", wheel.name):
        found.append("its name has no manylinux tag, so package indexes refuse it")
    return found


def main() -> None:
    """Ends with what is wrong with the wheels that are named."""
    wrong = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(Path(path))]
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
