"""A control plane without kubelets: kwok keeps the nodes and lets each pod run as soon as it has one."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.api_server import KUBECONFIG, apiserver_command, etcd_command, ready
from tools.background import free_port, process_running, wait_until
from tools.cluster.audit import audit_flags, audit_policy
from tools.cluster.tools import KUBERNETES, KWOK, STAGES, program

ADMIN, OURS, PEER = "admin", "bench:qtj", "bench:peer"
NODES = 20
_READY_SECONDS = 120.0
_FAST = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""What the control plane's own clients may ask: it must not be what limits an operator."""
_KUBELETS = {
    "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
    "kind": "KwokConfiguration",
    "options": {"podPlayStageParallelism": NODES, "nodePlayStageParallelism": 4, "nodeLeaseParallelism": 4},
}
"""kwok starts four pods at a time unless it is told otherwise, where kubelets start those of all nodes at once."""


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane.

    Attributes:
        url: Of the API server.
        folder: What it writes.
        processes: What a measurement needs to run, by name: its programs, and an operator that is measured.
    """

    url: str
    folder: Path
    processes: dict[str, "subprocess.Popen[bytes]"]

    @property
    def audit(self) -> Path:
        """The log of what the operators request."""
        return self.folder / "audit.log"

    def kubeconfig(self, user: str) -> Path:
        """Returns the kubeconfig of a user; its token is the user's name."""
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        if not path.exists():  # a program that has just started may read it
            path.write_text(KUBECONFIG.format(url=self.url, token=user))
        return path

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """Runs kubectl as an administrator, and returns what it wrote.

        Raises:
            CalledProcessError: It failed.
        """
        command = [program(KUBERNETES, "kubectl"), f"--kubeconfig={self.kubeconfig(ADMIN)}", *words]
        return subprocess.run(command, input=stdin, text=True, check=True, stdout=subprocess.PIPE).stdout


@contextmanager
def control_plane(folder: Path) -> Iterator[ControlPlane]:
    """Starts etcd, kube-apiserver, the controller manager, the scheduler and kwok, and stops exactly these."""
    store, peers, port = free_port(), free_port(), free_port()
    url = f"https://127.0.0.1:{port}"
    processes: dict[str, subprocess.Popen[bytes]] = {}
    plane = ControlPlane(url, folder, processes)
    with _ended_by_sigterm(), ExitStack() as stack:

        def start(argv: Sequence[str]) -> None:
            name = Path(argv[0]).name
            processes[name] = stack.enter_context(process_running(argv, folder / f"{name}.log"))

        start(_etcd(folder, store, peers))
        start(_apiserver(folder, store, port))
        wait_until(lambda: ready(url, ADMIN), _READY_SECONDS, f"the API server: see {folder}/kube-apiserver.log")
        key = f"--service-account-private-key-file={folder}/service-accounts.key"
        controllers = (*_component(plane, "kube-controller-manager"), key)
        for argv in (controllers, _component(plane, "kube-scheduler"), _kwok(plane)):
            start(argv)
        _join_nodes(plane)
        yield plane


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM end this program as Ctrl-C does, so that it stops what it has started."""
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _etcd(folder: Path, port: int, peers: int) -> Sequence[str]:
    alone = etcd_command(program(KUBERNETES, "etcd"), folder, port, peers)
    return *alone, "--quota-backend-bytes=8589934592", "--log-level=warn"


def _apiserver(folder: Path, store: int, port: int) -> Sequence[str]:
    tokens = {ADMIN: 'admin,1,"system:masters"', OURS: f"{OURS},2", PEER: f"{PEER},3"}
    policy = folder / "audit-policy.json"
    policy.write_text(audit_policy(OURS, PEER))
    return (
        *apiserver_command(program(KUBERNETES, "kube-apiserver"), folder, store, port, tokens),
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
        *audit_flags(policy, folder / "audit.log"),
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=4096",
    )


def _component(plane: ControlPlane, name: str) -> Sequence[str]:
    """Returns how a client of the control plane is started, as the only one of its kind."""
    return (
        program(KUBERNETES, name),
        f"--kubeconfig={plane.kubeconfig(ADMIN)}",
        "--secure-port=0",  # nobody asks it anything
        "--leader-elect=false",
        *_FAST,
    )


def _kwok(plane: ControlPlane) -> Sequence[str]:
    stages = plane.folder / "stages.yaml"
    parts = (*(KWOK.home / path for path in STAGES), Path(__file__).with_name("finish.yaml"))
    stages.write_text("\n---\n".join([json.dumps(_KUBELETS), *(part.read_text() for part in parts)]))
    return (
        program(KWOK, "kwok"),
        f"--kubeconfig={plane.kubeconfig(ADMIN)}",
        f"--config={stages}",
        "--cidr=10.128.0.0/9",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
        f"--server-address=127.0.0.1:{free_port()}",
    )


def _join_nodes(plane: ControlPlane) -> None:
    annotations = {"kwok.x-k8s.io/node": "fake"}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{index}", "annotations": annotations}}
        for index in range(NODES)
    ]
    plane.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    plane.kubectl("wait", "nodes", "--all", "--for=condition=Ready", f"--timeout={_READY_SECONDS:.0f}s")
