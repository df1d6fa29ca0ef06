"""Packages that the image lacks, from a wheel beside the program: installed, refused, and asked for again."""

import json
import subprocess
import tempfile
from pathlib import Path

from tests.e2e.checks import Checks
from tests.e2e.kubectl import get, kubectl, qtj
from tests.e2e.world import World
from tests.wheels import sha256, wheel

_NAME, _CONTENT = wheel("tiny", "1.0")
_PROGRAM = f"""\
import sys
import numpy
import tiny
WHEEL = "{_NAME}"
sys.exit(tiny.VERSION != "1.0" or numpy.__file__.startswith("/opt/requirements"))
"""
_HASH = sha256(_CONTENT)
_LOCAL = "--no-index\n--find-links .\n"
_READ_ONLY = "spec.template.spec.containers[0].securityContext={readOnlyRootFilesystem: true}"
_SECONDS = 600


def required(checks: Checks, world: World) -> None:
    """Submits a program that imports a package of a wheel; then with another hash, another version and no index."""
    good = _submit(world, "tiny-good", f"{_LOCAL}tiny==1.0 --hash=sha256:{_HASH}\n", "--follow")
    checks.equal("exit code of the job that imports the package", good.returncode, 0, good.stdout[-500:] + good.stderr)
    _fails(checks, world, "tiny-hash", f"{_LOCAL}tiny==1.0 --hash=sha256:{'0' * 64}\n", "has another hash than")
    _fails(checks, world, "tiny-version", f"{_LOCAL}tiny==9 --hash=sha256:{_HASH}\n", "the requirement tiny==9")
    nowhere = f"--index-url http://127.0.0.1:9/simple\ntiny==1.0 --hash=sha256:{_HASH}\n"
    once = ("--set", "spec.runPolicy.backoffLimit=1")
    restarts = _fails(checks, world, "tiny-index", nowhere, "the index does not answer", *once)
    checks.equal("an index that does not answer is asked again", restarts, 1)


def _fails(checks: Checks, world: World, name: str, requirements: str, sentence: str, *more: str) -> int:
    """Checks that a job fails, and says why; returns how often it was restarted."""
    sent = _submit(world, name, requirements, *more)
    checks.equal(f"exit code of qtj submit of {name}", sent.returncode, 0, sent.stderr)
    where = ("-n", world.namespace)
    kubectl(*where, "wait", f"qtj/{name}", "--for=condition=Failed", "--timeout=300s", timeout=310)
    status = get(*where, "qtj", name)["status"]
    said = json.dumps(status["conditions"])
    checks.that(f"{name} says why it failed", sentence in said, said)
    kubectl(*where, "delete", "qtj", name, "--wait=false")
    restarts: int = status.get("restarts") or 0
    return restarts


def _submit(world: World, name: str, requirements: str, *more: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        for file, content in {_NAME: _CONTENT, "train.py": _PROGRAM.encode(), "r.txt": requirements.encode()}.items():
            (Path(folder) / file).write_bytes(content)
        words = ("submit", "train.py", "-n", world.namespace, "--name", name, "--requirements", "r.txt")
        options = ("--artifacts", f"gs://quantum-training/{name}", "--memory", "512Mi", "--set", _READ_ONLY)
        return qtj(*words, *options, *more, cwd=folder, timeout=_SECONDS)
