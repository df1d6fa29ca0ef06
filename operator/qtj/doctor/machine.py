"""What `qtj doctor` looks at on the machine itself."""

import ctypes
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from qtj.doctor.finding import Finding, Level
from qtj_contract.control_groups import memory_limit, usable_processors
from qtj_contract.quantities import in_words

__all__ = ["CHECKS"]

_GIB = 1024**3
_LITTLE_MEMORY = 2 * _GIB
"""Two workers, and an inference that is loading, take this much."""
_LITTLE_DISK, _NO_DISK = _GIB, 10 * 1024**2
_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER = 2, 37
"""prctl(2)."""


def _python() -> Finding:
    found = f"{platform.python_version()}, {sys.executable}"
    version = sys.version_info[:2]
    if version < (3, 11):
        return Finding("Python", Level.MISSING, found, "install Python 3.11 or newer")
    if version < (3, 13):
        return Finding("Python", Level.OK, found)
    return Finding("Python", Level.WARNING, found, "qcnn and other programs with TensorFlow need 3.11 or 3.12")


def _platform() -> Finding:
    found = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return Finding("platform", Level.OK, found)
    remedy = "the trainer needs Linux on x86-64; qtj run of programs without TensorFlow Quantum is not tested elsewhere"
    return Finding("platform", Level.WARNING, found, remedy)


def _ends_with_its_parent() -> bool:
    """Tells whether this kernel can end a process with its parent, and give orphans to a process that asks for them."""
    if platform.system() != "Linux":
        return False
    prctl, value = ctypes.CDLL(None).prctl, ctypes.c_int()
    return all(prctl(option, ctypes.byref(value)) == 0 for option in (_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER))


def _kernel() -> Finding:
    if _ends_with_its_parent():
        return Finding("kernel", Level.OK, "ends workers with qtj run, however that ends")
    remedy = "look for processes left over when qtj run was killed"
    return Finding("kernel", Level.WARNING, "cannot end a process with its parent", remedy)


def _processors() -> Finding:
    count = usable_processors()
    return Finding("processors", Level.OK, f"{count} for this process, of {os.cpu_count()} of the machine")


def _memory() -> Finding:
    usable = memory_limit()
    found = f"{in_words(usable)} for this process"
    if usable >= _LITTLE_MEMORY:
        return Finding("memory", Level.OK, found)
    return Finding("memory", Level.WARNING, found, "run with one worker: each takes about 0.6 GiB for TensorFlow alone")


def _folder() -> Finding:
    return _room("folder", Path.cwd(), "change to another folder, or name one with --artifacts")


def _temporary() -> Finding:
    try:
        folder = Path(tempfile.gettempdir())
    except FileNotFoundError:
        return Finding("TMPDIR", Level.MISSING, "no folder for temporary files can be written to", "set TMPDIR to one")
    return _room("TMPDIR", folder, "set TMPDIR to another folder")


def _room(check: str, folder: Path, remedy: str) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as problem:
        return Finding(check, Level.MISSING, f"{folder} cannot be written to ({problem.strerror})", remedy)
    found = f"{in_words(free)} free in {folder}"
    if free < _LITTLE_DISK:
        return Finding(check, Level.MISSING if free < _NO_DISK else Level.WARNING, found, remedy)
    return Finding(check, Level.OK, found)


CHECKS: Mapping[str, Callable[[], Finding]] = {
    "Python": _python,
    "platform": _platform,
    "kernel": _kernel,
    "processors": _processors,
    "memory": _memory,
    "folder": _folder,
    "TMPDIR": _temporary,
}
"""The checks, by the name at the beginning of their line."""
