"""Jobs and pods of a namespace of a real API server, and `qtj` as a process that asks for them."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.forked import Popen
from tests.jobs import job_object
from tools.api_server import ApiServer

__all__ = ["PLUGIN", "RUNNING", "Place", "ended", "rest_of"]

AS_PLUGIN = str(Path(__file__).with_name("kubectl_qtj.py"))
PLUGIN = (sys.executable, "-c", "from qtj import kubectl_plugin; kubectl_plugin()")
RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {
            "name": "trainer", "image": "i", "imageID": "i", "ready": True, "restartCount": 0,
            "state": {"running": {"startedAt": "2030-01-01T12:00:00Z"}},
        }
    ],
}  # fmt: skip
SOURCES = os.pathsep.join(str(Path(__file__).parents[2] / source) for source in ("operator", "trainer"))


def ended(code: int) -> dict[str, Any]:
    """The status of a pod whose program has ended."""
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    status = {"name": "trainer", "image": "i", "imageID": "i", "ready": False, "restartCount": 0, "state": state}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [status]}


def rest_of(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Waits for the end of a process of which lines were read; returns the rest of what it wrote on both streams.

    `communicate` would lose what is buffered.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        rest = process.stdout.read()
        return rest, process.stderr.read()


@dataclass(frozen=True)
class Place:
    """One namespace.

    Attributes:
        server: The API server.
        namespace: The namespace.
        home: A folder of the test.
        started: The processes that were started.
    """

    server: ApiServer
    namespace: str
    home: Path
    started: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def job(self, name: str = "qcnn", *, status: dict[str, Any] | None = None, **spec: Any) -> str:
        """Creates a job with a status; returns its uid."""
        manifest = job_object(name=name, namespace=self.namespace, **spec)
        del manifest["metadata"]["uid"]
        self.server.create(manifest)
        if status:
            self.server.set_status("qtj", self.namespace, name, status)
        uid: str = self.server.get("qtj", name, "-n", self.namespace)["metadata"]["uid"]
        return uid

    def sets(self, name: str = "qcnn", **status: Any) -> None:
        """Changes fields of the status of a job, as the operator does."""
        self.server.set_status("qtj", self.namespace, name, status)

    def pod(
        self, uid: str, replica: str = "worker-0", *, job: str = "qcnn", attempt: int = 1, node: str | None = None,
        status: dict[str, Any] | None = None, sidecar: bool = False,
    ) -> str:  # fmt: skip
        """Creates the pod of a replica, as the operator does; returns its name."""
        role, _, index = replica.rpartition("-")
        ours = {"job": job, "role": role, "index": index, "attempt": str(attempt)}
        labels = {f"quantumtraining.dev/{key}": value for key, value in ours.items()}
        owner = {"apiVersion": "quantumtraining.dev/v1alpha1", "kind": "QuantumTrainingJob", "name": job, "uid": uid}
        containers = [{"name": "proxy", "image": "p"}] if sidecar else []
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{job}-{replica}",
                "namespace": self.namespace,
                "labels": {"app.kubernetes.io/managed-by": "qtj-operator", **labels},
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {"containers": [*containers, {"name": "trainer", "image": "i"}], "restartPolicy": "Never"},
        }
        if node:
            manifest["spec"]["nodeName"] = node  # type: ignore[index]
        self.server.create(manifest)
        if status:
            self.server.set_status("pod", self.namespace, f"{job}-{replica}", status)
        return f"{job}-{replica}"

    def deletes(self, pod: str) -> None:
        """Deletes a pod, which has no kubelet that would wait for its programs."""
        self.server.kubectl("delete", "pod", pod, "-n", self.namespace, "--force", "--grace-period=0", "--wait=true")

    def event(self, kind: str, name: str, uid: str = "", *, reason: str = "Restarting", **fields: Any) -> None:
        """Creates an event."""
        about = {"kind": kind, "name": name, "namespace": self.namespace, **({"uid": uid} if uid else {})}
        manifest = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": "event-", "namespace": self.namespace},
            "involvedObject": about,
            "reason": reason,
            "message": f"{reason} of {name}",
            "type": "Normal",
            "reportingComponent": "test",
            **fields,
        }
        self.server.create(manifest)

    def start(self, *words: str, here: bool = False, **options: Any) -> "subprocess.Popen[str]":
        """Starts `kubectl qtj` in this namespace; `here` leaves out -n."""
        process = Popen(
            "command",
            [sys.executable, AS_PLUGIN, *words, *(() if here else ("-n", self.namespace))],
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            **{"env": self.environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )
        self.started.append(process)
        return process

    def qtj(self, *words: str, here: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs `kubectl qtj` in this namespace to its end."""
        process = self.start(*words, here=here)
        output, errors = process.communicate(timeout=120)
        assert "Traceback" not in errors, errors
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def clean_up(self) -> None:
        """Ends what a test that failed has left."""
        for process in self.started:
            process.kill()
            if not process.stdout or not process.stdout.closed:
                process.communicate()

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "QTJ_"))}
        return {**kept, "HOME": str(self.home), "KUBECONFIG": str(self.server.kubeconfig), "PYTHONPATH": SOURCES} | more
