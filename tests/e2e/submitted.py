"""A program becomes a job by one command, or by a cell of a notebook, without an image of its own and without YAML."""

import tempfile
import time
from pathlib import Path

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, exists, get, qtj, wait_until
from tests.e2e.world import World
from tests.python.kernel import run_cells

JOB, NOTED = "sent", "noted"
_SECONDS = 900
_STORAGE = "spec.template.spec.containers[0].envFrom=[{configMapRef: {name: storage}}]"
"""Where the storage emulator of the test cluster is."""
_CELLS = (
    "import qtj\njob = qtj.Job.from_program('{script}', settings=['{storage}'])",
    "job = job.submit(artifacts='{store}', namespace='{namespace}')",
    "job.follow()",
    "print(job.phase, job.status['progress']['epoch'], sorted(job.metrics))",
    "print(job.delete())",
)


def run(checks: Checks, world: World) -> None:
    """Submits examples/own_program.py with a module in a folder, follows it, fetches what it stored, deletes it."""
    store = f"--artifacts=gs://quantum-training/{JOB}-{time.time_ns()}"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "sent.py"
        (Path(folder) / "parts").mkdir()
        (Path(folder) / "parts/angles.py").write_text("PI = 3.14159\n")
        program.write_text(f"from parts.angles import PI\n{(ROOT / 'examples/own_program.py').read_text()}")
        followed = qtj("submit", str(program), store, "--follow", "--set", _STORAGE, "-n", world.namespace)
    checks.equal("exit code of the job that was followed", followed.returncode, 0)
    checks.that("its end is shown", f"{JOB} is Complete" in followed.stdout, followed.stdout[-500:] + followed.stderr)
    _fetch(checks, world)
    config_map = get("-n", world.namespace, "qtj", JOB)["spec"]["program"]["configMap"]
    deleted = qtj("delete", JOB, "-n", world.namespace)
    checks.equal("exit code of qtj delete", deleted.returncode, 0)
    where = ("-n", world.namespace, "configmap", config_map)
    wait_until("the ConfigMap is gone with its job", lambda: not exists(*where), 90)
    _in_a_notebook(checks, world)


def _in_a_notebook(checks: Checks, world: World) -> None:
    """Submits, follows and deletes a job from a notebook on a kernel of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{NOTED}.py"
        script.write_text((ROOT / "examples/own_program.py").read_text())
        store = f"gs://quantum-training/{NOTED}-{time.time_ns()}"
        values = {"script": script, "storage": _STORAGE, "store": store, "namespace": world.namespace}
        *_, followed, told, deleted = run_cells(Path(folder), *(each.format(**values) for each in _CELLS))
    checks.that("the notebook shows its end", f"{NOTED} is Complete" in followed, followed[-500:])
    checks.equal("what the notebook knows of the job", told, "Complete 5 ['mse']\n")
    checks.that("the notebook deletes it", f"{NOTED} is deleted" in deleted, deleted)


def _fetch(checks: Checks, world: World) -> None:
    """Fetches the results through a pod: this machine does not reach the storage emulator."""
    with tempfile.TemporaryDirectory() as folder:
        fetched = qtj("fetch", JOB, "--through-pod", "--to", folder, "-n", world.namespace)
        names = sorted(path.suffix for path in Path(folder).iterdir())
    checks.equal("exit code of qtj fetch --through-pod", fetched.returncode, 0)
    checks.that("weights and report come home", {".h5", ".html"} <= {*names}, f"{names} {fetched.stderr}")
    pods = [each["metadata"]["name"] for each in get("-n", world.namespace, "pods")["items"]]
    checks.that("the pod that read them is gone", not any("-fetch-" in name for name in pods), str(pods))
