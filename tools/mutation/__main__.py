"""`make mutation`: breaks the code in every small way, one at a time, and counts what the tests notice.

What is broken: the operator's decisions, and what the trainer, the command and the cluster of one machine do without
TensorFlow and without other processes. [tool.mutmut] in pyproject.toml lists the modules and the tests, which are the
fast ones: a mutant is tried in one process.

Names of mutants, with wildcards, may follow: `python -m tools.mutation 'qtj_operator.core.finished.*'`.
"""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("operator/qtj", "operator/qtj_contract", "operator/qtj_operator", "operator/qtj_report"),
    *("trainer/qtj_simulator", "trainer/qtj_trainer"),
)
NOTICED = {"killed", "timeout", "segfault", "suspicious"}
"""What mutmut calls a mutant with which the tests do not pass."""


def laid_out(folder: Path) -> None:
    """Copies what is needed: mutmut takes a module's path for its name, so that no source root may be above it."""
    ignored = shutil.ignore_patterns("__pycache__")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / Path(package).name, ignore=ignored)
    for own in ("tests", "tools"):
        shutil.copytree(ROOT / own, folder / own, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)


def mutmut(folder: Path, *arguments: str) -> str:
    """Runs one of mutmut's commands; returns what it says."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def verdicts(folder: Path) -> dict[str, str]:
    """Returns what became of each mutant that was tried."""
    lines = mutmut(folder, "results", "--all", "true").splitlines()
    found = dict(line.strip().rsplit(": ", 1) for line in lines if ": " in line)
    return {name: verdict for name, verdict in found.items() if verdict != "not checked"}


def main() -> int:
    """Runs all mutants, or those named; shows who survived and returns the exit code."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        laid_out(folder)
        mutmut(folder, "run", "--max-children", "2", *sys.argv[1:])
        found = verdicts(folder)
        for mutant in sorted(mutant for mutant, verdict in found.items() if verdict not in NOTICED):
            print(mutmut(folder, "show", mutant), flush=True)
    counts = Counter(verdict in NOTICED for verdict in found.values())
    if not found:
        print("no mutant was tried")
        return 1
    score = counts[True] / len(found)
    print(f"mutants: {counts[True]} killed, {counts[False]} survived, score {score:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
