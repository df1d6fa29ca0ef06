"""Checks the wheels that are to be published: `make wheel`."""

import re
import sys
from pathlib import Path
from zipfile import ZipFile

from tools.cluster.images import project_version

PACKAGES = {
    "quantumtrainingjob": "qtj",
    "quantumtrainingjob_contract": "qtj_contract",
    "quantumtrainingjob_operator": "qtj_operator",
    "quantumtrainingjob_report": "qtj_report",
    "quantumtrainingjob_simulator": "qtj_simulator",
    "quantumtrainingjob_trainer": "qtj_trainer",
}
"""The package that each distribution has, and it alone."""

_COMMAND = "quantumtrainingjob"
LIBRARIES = {
    "quantumtrainingjob_simulator": {"libqtj_fused.so", "libqtj_op.so", "libqtj_xla.so"},
    "quantumtrainingjob_trainer": {"libqtj_loopback.so", "libqtj_tracer.so"},
}
"""The native libraries of each distribution that has some; its wheels are for one platform each."""


def faults(wheel: Path) -> list[str]:
    """Returns what is wrong with a wheel, one sentence each."""
    name, version, tag = wheel.stem.split("-", 2)
    if name not in PACKAGES:
        return [f"{name} is none of our distributions"]
    with ZipFile(wheel) as archive:
        members = archive.namelist()
    found = [f"it has {member}, which is of another package" for member in _strangers(name, members)]
    libraries = {Path(member).name for member in members if member.endswith(".so")}
    wanted = LIBRARIES.get(name, set())
    found += [f"it has no {library}" for library in sorted(wanted - libraries)]
    found += [f"it has {library}, which is none of its libraries" for library in sorted(libraries - wanted)]
    if version != project_version():
        found.append(f"it is not of version {project_version()}")
    if wanted and not re.fullmatch(r"py3-none-manylinux_2_\d+_(x86_64|aarch64)", tag):
        found.append("its name has no manylinux tag, so package indexes refuse it")
    if not wanted and tag != "py3-none-any":
        found.append("it is not for every platform, although it is pure Python")
    return found


def _strangers(name: str, members: list[str]) -> list[str]:
    roots = {PACKAGES[name], f"{name}-{project_version()}.dist-info"}
    manual = f"{name}-{project_version()}.data/data/share/man/man1/qtj.1" if name == _COMMAND else ""
    return [member for member in members if member.partition("/")[0] not in roots and member != manual]


def main() -> None:
    """Ends with what is wrong with the wheels that are named, or with the distribution that has none."""
    wheels = [Path(name) for name in sys.argv[1:]]
    missing = PACKAGES.keys() - {wheel.name.partition("-")[0] for wheel in wheels}
    wrong = [f"there is no wheel of {name}" for name in sorted(missing)]
    wrong += [f"{wheel}: {fault}" for wheel in wheels for fault in faults(wheel)]
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
