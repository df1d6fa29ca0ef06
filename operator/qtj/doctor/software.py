"""What `qtj doctor` checks of the installed software. A check that may crash or hang runs in its own process."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec

from qtj.doctor.finding import Finding, Level
from qtj.local.extras import EXTRAS, install_command, missing

__all__ = ["CHECKS", "ENGINE", "IMPORT_SECONDS", "WRITE_SECONDS", "artifacts"]

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
"""The checks, by the name at the beginning of their line."""
