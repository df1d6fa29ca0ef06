"""`make examples`: every example to its end on this machine, with `qtj run`."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torch import PYTHON

EXAMPLES = Path(__file__).parents[2] / "examples"


def settings(example: Path, folder: Path) -> Sequence[str]:
    """What an example needs here that it has elsewhere on a cluster: its images, and PyTorch."""
    if example.stem == "torch-loop":
        return ("--set", f"spec.template.spec.containers[0].command[0]={PYTHON}")
    if example.stem != "images":
        return ()
    data = folder / "images-data"
    subprocess.run([sys.executable, EXAMPLES / "make_images.py", data], check=True)
    return ("--set", f"spec.template.spec.containers[0].args[2]=--data={data}")


def completes(example: Path, folder: Path) -> bool:
    """Runs one example and says how it ended; a failed one leaves its logs in `folder`."""
    qtj, artifacts, begin = Path(sys.executable).with_name("qtj"), folder / example.stem, time.monotonic()
    ran = subprocess.run(
        [qtj, "run", example, "--artifacts", artifacts, *settings(example, folder)],
        cwd=EXAMPLES.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    word = "complete" if ran.returncode == 0 else f"FAILED with {ran.returncode}\n{ran.stdout}"
    print(f"{time.monotonic() - begin:6.1f} s  {example.name}: {word}", flush=True)
    return ran.returncode == 0


def main() -> int:
    """Runs all of them; returns the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="qtj-examples-"))
    examples = sorted(EXAMPLES.glob("*.yaml"))
    if not PYTHON.exists():
        print("not run: torch-loop.yaml, because PyTorch is not here: make .venv-torch/installed")
        examples = [example for example in examples if example.stem != "torch-loop"]
    results = [completes(example, folder) for example in examples]
    failed = results.count(False)
    if failed:
        print(f"their logs are in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"examples: {results.count(True)} complete, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
