"""`qtj doctor`: checks what `qtj run` needs on this machine, of the installed software, a cluster, and a bucket.

A check of software that may crash or hang runs in its own process.
"""

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from qtj.local.extras import EXTRAS, install_command, missing
from qtj.terminal.errors import COMPLETE, FAILED
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.streams import print_stdout
from qtj_contract.control_groups import memory_limit, usable_processors
from qtj_contract.quantities import in_words

__all__ = [
    "CHECKS",
    "ENGINE",
    "IMPORT_SECONDS",
    "MACHINE",
    "WRITE_SECONDS",
    "Finding",
    "Level",
    "artifacts",
    "run_check",
    "run_doctor",
]

IMPORT_SECONDS = 120.0
WRITE_SECONDS = 30.0
_NAMED = 3
"""How many missing packages of an extra are named."""

_TENSORFLOW = "import qtj_trainer, tensorflow, tensorflow_quantum; print(tensorflow.__version__)"
ENGINE = """
import sys
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import FILE, library
try:
    library()
    print(FILE)
except UnsupportedError as problem:
    sys.exit(str(problem))
"""
_WRITE = """
import secrets, sys
from qtj_trainer.errors import TrainerError
from qtj_trainer.storage import open_store
try:
    store, name = open_store(sys.argv[1]), f"qtj-doctor-{secrets.token_hex(8)}"
    store.write(name, b"written by qtj doctor, and to be deleted")
    store.delete(name)
    print(store.uri(name))
except TrainerError as problem:
    sys.exit(str(problem))
"""
_GIB = 1024**3
_LITTLE_MEMORY = 2 * _GIB
"""Two workers, and an inference that is loading, take this much."""
_LITTLE_DISK, _NO_DISK = _GIB, 10 * 1024**2
_PR_GET_PDEATHSIG, _PR_GET_CHILD_SUBREAPER = 2, 37
"""prctl(2)."""


class Level(StrEnum):
    """How much it matters."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        check: What was checked, as a short name.
        level: How much it matters; `qtj run` needs what is missing.
        message: The result.
        remedy: What to do; empty if there is nothing to do.
    """

    check: str
    level: Level
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Returns the line for people."""
        return f"{self.level:<8} {self.check:<11} {self.message}{f': {self.remedy}' if self.remedy else ''}"


def run_check(check: str, check_it: Callable[[], Finding]) -> Finding:
    """Runs a check. One that raises becomes a warning: the cause may be the defect of this machine.

    A check that ends by a TimeoutError says nothing about what it looked at, for example an import on a busy machine.
    """
    try:
        return check_it()
    except TimeoutError as problem:
        return Finding(check, Level.WARNING, f"not checked: {problem}", "try again when this machine is less busy")
    except Exception as problem:  # noqa: BLE001
        reason = " ".join(str(problem).split()) or "without a message"
        return Finding(check, Level.WARNING, f"it cannot be checked ({type(problem).__name__}: {reason})")


def run_doctor(form: OutputFormat | None, artifacts: str | None) -> int:
    """Runs every check, and prints a line for each.

    Args:
        form: The form; None for lines for people.
        artifacts: The address at which to check that it can be written to; None to skip this check.

    Returns:
        The exit code: 0 unless something is missing that `qtj run` needs.
    """
    findings = []
    for finding in _findings(artifacts):
        findings.append(finding)
        if form is None:
            print_stdout(str(finding))
    if form:
        print_stdout(
            formatted([asdict(each) for each in findings], form, name=lambda each: str(each["check"]), as_list=True)
        )
    return FAILED if any(each.level == Level.MISSING for each in findings) else COMPLETE


def _findings(uri: str | None) -> Iterator[Finding]:
    checks: dict[str, Callable[[], Finding]] = {**MACHINE, **CHECKS, "cluster": _cluster}
    if uri is not None:
        checks["artifacts"] = partial(artifacts, uri)
    with ThreadPoolExecutor() as pool:  # the slow ones take seconds each
        running: list[Future[Finding]] = [pool.submit(run_check, name, check) for name, check in checks.items()]
        for each in running:
            yield each.result()


def _cluster() -> Finding:
    try:
        from qtj.doctor.cluster import cluster
    except ModuleNotFoundError as problem:
        return Finding("cluster", Level.WARNING, f"not checked, without {problem.name}")
    return cluster()


def _extra(name: str) -> Finding:
    lacking, check = missing(name), f"[{name}]"
    if not lacking:
        return Finding(check, Level.OK, f"everything is installed to {EXTRAS[name]}")
    # Programs in other frameworks need the trainer without its extra.
    level = Level.MISSING if name == "trainer" and not find_spec("qtj_trainer") else Level.WARNING
    more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
    what = f"not installed: {', '.join(lacking[:_NAMED])}{more}, needed to {EXTRAS[name]}"
    return Finding(check, level, what, install_command(name))


def _with(module: str, check: str, look: Callable[[], Finding]) -> Finding:
    """Runs a check that needs a module of the extra trainer. Only the check of extras reports what is missing."""
    if find_spec(module) is None:
        return Finding(check, Level.WARNING, "not checked, without the extra trainer")
    return look()


def _tensorflow() -> Finding:
    begin = time.monotonic()
    ended = _python(_TENSORFLOW, seconds=IMPORT_SECONDS)
    if ended.returncode == 0:
        took = time.monotonic() - begin
        return Finding("TensorFlow", Level.OK, f"{ended.stdout.split()[-1]}, imported in {took:.0f} s")
    return Finding(
        "TensorFlow", Level.MISSING, f"it cannot be imported ({_last_line(ended)})", install_command("trainer")
    )


def _engine() -> Finding:
    ended = _python(ENGINE, seconds=IMPORT_SECONDS)
    if ended.returncode == 0:
        return Finding("engine", Level.OK, f"the fused engine is {ended.stdout.split()[-1]}")
    remedy = "until then, TensorFlow Quantum simulates in its place"
    return Finding("engine", Level.WARNING, f"the fused engine cannot be loaded: {_last_line(ended)}", remedy)


def artifacts(uri: str) -> Finding:
    """Writes an object with a new name to the place of the artifacts, and deletes it."""
    return _with("qtj_trainer", "artifacts", partial(_written, uri))


def _written(uri: str) -> Finding:
    try:
        ended = _python(_WRITE, uri, seconds=WRITE_SECONDS)
    except TimeoutError as problem:
        return Finding("artifacts", Level.MISSING, f"{uri} cannot be written to ({problem})")
    if ended.returncode == 0:
        return Finding("artifacts", Level.OK, f"{uri} can be written to")
    return Finding("artifacts", Level.MISSING, f"{uri} cannot be written to ({_last_line(ended)})")


def _python(script: str, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", script, *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from None


def _last_line(ended: subprocess.CompletedProcess[str]) -> str:
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {ended.returncode}"


CHECKS: Mapping[str, Callable[[], Finding]] = {
    **{f"[{name}]": partial(_extra, name) for name in EXTRAS},
    "TensorFlow": partial(_with, "tensorflow_quantum", "TensorFlow", _tensorflow),
    "engine": partial(_with, "qtj_simulator", "engine", _engine),
}
"""The checks of software, by the name at the beginning of their line."""


def _python_version() -> Finding:
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


MACHINE: Mapping[str, Callable[[], Finding]] = {
    "Python": _python_version,
    "platform": _platform,
    "kernel": _kernel,
    "processors": _processors,
    "memory": _memory,
    "folder": _folder,
    "TMPDIR": _temporary,
}
"""The checks, by the name at the beginning of their line."""
