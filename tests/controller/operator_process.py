"""`qtj operator` as a process of its own, and the namespace that it looks after."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtj_contract import TerminationMessage
from tests.controller.cluster_jobs import RUNNING
from tests.forked import Popen
from tools.api_server import ApiServer
from tools.background import free_port, wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "qcnn.yaml"
QTJ = (sys.executable, "-c", "from qtj import app; app()")
SOON = 120.0
"""Seconds in which the operator does what it is to do; it takes a few milliseconds, but machines may be busy."""

READY = {**RUNNING, "podIP": "127.0.0.1"}


@dataclass(frozen=True)
class Operator:
    """An operator that runs, and where it answers."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def answers(self, path: str) -> str | None:
        """The body of the answer; None when there is none, or it is a refusal."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=2) as answer:
                body: str = answer.read().decode()
                return body
        except OSError:
            return None

    def writes(self) -> int:
        """How many requests that change something it has made."""
        verbs = ("POST", "PUT", "PATCH", "DELETE")
        return sum(self._counted("qtj_api_requests_total", f'verb="{verb}"') for verb in verbs)

    def passes(self) -> int:
        """How many passes it has ended."""
        return self._counted("qtj_reconcile_duration_seconds_count")

    def _counted(self, metric: str, label: str = "") -> int:
        lines = (self.answers("/metrics") or "").splitlines()
        found = (line for line in lines if line.startswith(metric) and label in line)
        return sum(int(float(line.split()[-1])) for line in found)


def environment(home: Path, **more: str) -> Mapping[str, str]:
    """A home without a kubeconfig, and none of the cluster that the tests themselves may run in."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "QTJ_"))}
    return {**kept, "HOME": str(home), **more}


@contextmanager
def running(server: ApiServer, namespace: str, home: Path, *options: str) -> Iterator[Operator]:
    with started(server, namespace, home, *options) as operator:
        wait_until(lambda: operator.answers("/readyz"), SOON, f"the operator: {operator.log.read_text()}")
        yield operator


@contextmanager
def started(server: ApiServer, namespace: str, home: Path, *options: str) -> Iterator[Operator]:
    """An operator that need not become ready."""
    port = free_port()
    argv = (sys.executable, "-m", "qtj", "operator", "--namespace", namespace, "--port", str(port), *options)
    log = home / f"operator-{port}.log"
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w"))
        env = environment(home, KUBECONFIG=str(server.kubeconfig))
        process = stack.enter_context(Popen("command", argv, cwd=home, stdout=output, stderr=output, env=env))
        stack.callback(process.kill)
        yield Operator(process, port, log)
    assert "Traceback" not in log.read_text()


@dataclass(frozen=True)
class Cluster:
    """The test's namespace, as a user and a kubelet see it."""

    server: ApiServer
    namespace: str

    def apply_example(self) -> None:
        self.server.kubectl("apply", "-n", self.namespace, "-f", str(EXAMPLE))

    def job(self) -> dict[str, Any]:
        return self.server.get("qtj", "qcnn", "-n", self.namespace, "--show-managed-fields")

    def status(self) -> dict[str, Any]:
        return dict(self.job().get("status", {}))

    def has(self, resource: str, *names: str) -> Callable[[], bool]:
        return lambda: self.server.names(resource, self.namespace) == list(names)

    def is_(self, phase: str) -> Callable[[], bool]:
        return lambda: self.status().get("phase") == phase

    def pod(self, name: str, status: Mapping[str, object]) -> None:
        self.server.set_status("pod", self.namespace, name, status)

    def ends(self, pod: str, exit_code: int, says: TerminationMessage) -> None:
        ended = {"exitCode": exit_code, "reason": "Completed", "message": says.to_json()}
        container = {"name": "trainer", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
        container["state"] = {"terminated": ended}
        phase = "Failed" if exit_code else "Succeeded"
        self.pod(pod, {"phase": phase, "conditions": [], "containerStatuses": [container]})


WORKERS = ("qcnn-worker-0", "qcnn-worker-1")


def ended(*words: str, env: Mapping[str, str]) -> tuple[int, str]:
    """Runs `qtj` to its end: the exit code, and what it said on stderr, apart from what it logged on its way."""
    answer = subprocess.run([*QTJ, *words], capture_output=True, text=True, check=False, timeout=30, env=env)
    return answer.returncode, "".join(line for line in answer.stderr.splitlines(keepends=True) if " INFO " not in line)
