"""A user's machine: `qtj` as a process in a folder of its own, and what it started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.forked import Popen
from tests.missing import skip_or_fail
from tools.background import wait_until

REPOSITORY = Path(__file__).parents[2]
TOY = str(REPOSITORY / "tests/local/toy.py")
QTJ = (sys.executable, "-c", "from qtj import app; app(prog_name='qtj')")
ENDLESS = 100_000
"""Epochs of a toy that trains until it is stopped."""
MARK = "TEST_MARK_OF_QTJ"
"""A variable by which the processes of a test are known, whatever becomes of their parents."""

Manifest = dict[str, Any]


def toy_job(epochs: int = 3, *flags: str, name: str = "toy", workers: int = 2, **spec: Any) -> Manifest:
    """A job whose pods run the toy."""
    container = {
        "name": "trainer",
        "image": "toy:1",
        "command": ["python", TOY],
        "args": ["train", str(epochs), *flags],
    }
    return {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingJob",
        "metadata": {"name": name},
        "spec": {
            "artifacts": {"uri": "gs://bucket/toy"},
            "replicaSpecs": {"Worker": {"replicas": workers}},
            "template": {"spec": {"containers": [container]}},
            "inference": {"args": ["infer"]},
            **deepcopy(spec),
        },
    }


@dataclass(frozen=True)
class Ended:
    """A `qtj` process after its end."""

    code: int
    output: str
    errors: str

    @property
    def job(self) -> Manifest:
        """The object that `-o json` printed."""
        job: Manifest = json.loads(self.output)
        return job

    @property
    def status(self) -> Manifest:
        status: Manifest = self.job["status"]
        return status


class Laptop:
    """One folder, and processes of one mark."""

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        self.folder = folder
        self._cleanup = cleanup
        self._mark = f"{os.getpid()}-{id(self)}"
        cleanup.callback(self._clean_up)

    def write(self, *manifests: Manifest, name: str = "job.yaml") -> Path:
        """Writes manifests into one file."""
        path = self.folder / name
        path.write_text(yaml.safe_dump_all(manifests))
        return path

    def qtj(self, *arguments: str, **environment: str) -> Ended:
        """Runs a command to its end."""
        return self.start(*arguments, **environment).end()

    def start(self, *arguments: str, **environment: str) -> "Running":
        return Running(self, arguments, {**self.environment(), **environment})

    def training(self, *arguments: str) -> "Running":
        """Runs job.yaml until an epoch has ended."""
        running = self.start("run", "job.yaml", *arguments)
        wait_until(self.trains)
        return running

    def run_apart(self, script: str) -> subprocess.CompletedProcess[str]:
        """Runs a shell script that may mount file systems, which nobody else sees."""
        apart = ["unshare", "--mount", *(("--user", "--map-root-user") if os.getuid() else ())]
        if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
            skip_or_fail("this machine mounts no file system apart: it takes root, or user namespaces")
        return subprocess.run(
            [*apart, "sh", "-c", script],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """Returns the environment of every process."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("QTJ_", "TF_"))}
        sources = os.pathsep.join(str(REPOSITORY / source) for source in ("operator", "trainer"))
        return {**inherited, "PYTHONPATH": sources, "TMPDIR": str(self.folder), MARK: self._mark}

    def processes(self) -> dict[int, str]:
        """Returns the command lines of all processes that this test started, wherever they are."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self._mark}".encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return {pid: line for pid, line in found.items() if line}  # a zombie has no command line

    def worker(self, index: int) -> int:
        """Returns the process of a worker."""
        found: list[int] = []

        def is_there() -> bool:
            found[:] = self._workers()  # one look: a process that is just being started shows now and then
            return len(found) > index

        wait_until(is_there)
        return found[index]

    def _workers(self) -> list[int]:
        found = {}
        for pid in self.processes():
            try:
                variables = dict(
                    line.split("=", 1)
                    for line in Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
                    if "=" in line
                )
            except OSError:
                continue
            if "QTJ_ARTIFACTS_URI" in variables and "QTJ_WEIGHTS_URI" not in variables:  # that is inference
                alone = '{"task": {"index": 0}}'  # a worker that has no peers may have no TF_CONFIG
                found[json.loads(variables.get("TF_CONFIG", alone))["task"]["index"]] = pid
        return [found[index] for index in sorted(found)]

    def artifacts(self, job: str = "toy", run: int | None = None) -> Path:
        """Returns the folder of a run, by default the last one."""
        runs = self.folder / "qtj-artifacts" / job
        return runs / str(run or max((int(path.name) for path in runs.glob("*")), default=1))

    def record(self, job: str = "toy") -> Manifest:
        record: Manifest = json.loads((self.artifacts(job) / "job.json").read_text())
        return record

    def epoch(self, job: str = "toy", run: int | None = None) -> int:
        """Returns the last epoch with a checkpoint."""
        names = [path.name for path in self.artifacts(job, run).glob("checkpoints/*/*")]
        return max((int(name.partition("-")[0]) for name in names if name[0].isdigit()), default=0)

    def trains(self, job: str = "toy", epoch: int = 1) -> bool:
        """Whether an epoch has ended, and the record says that the job runs: it may be written later than that."""
        return self.epoch(job) >= epoch and self.record(job)["status"].get("phase") != "Pending"

    def _clean_up(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


class Running:
    """A `qtj` process."""

    def __init__(self, laptop: Laptop, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.process: subprocess.Popen[str] = Popen(
            "command",
            [sys.executable, "-m", "qtj", *arguments],
            cwd=laptop.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def stop(self) -> Ended:
        """Ctrl-C, and the end."""
        self.interrupt()
        return self.end()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()

    def end(self, seconds: float = 300) -> Ended:
        output, errors = self.process.communicate(timeout=seconds)
        return Ended(self.process.returncode, output, errors)
