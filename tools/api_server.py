"""A real API server: etcd and kube-apiserver on the loopback address, and nothing else.

There are no nodes and no controllers: pods stay as they were created until a test writes their status. The programs
are those of the test cluster (`python -m tools.cluster tools` builds them), or those in the folder `QTJ_TOOLS`.
"""

import json
import os
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from tools.background import free_port, process_running, wait_until
from tools.cluster.tools import KUBERNETES, program

READY_SECONDS = 120.0
TOKEN = "token"
OPERATOR = "system:serviceaccount:quantum:qtj-operator"
OPERATOR_TOKEN = "operator-of-one-namespace"
"""What the service account of deploy/namespaced shows: there is no controller here that would make it a token."""
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "{url}", insecure-skip-tls-verify: true}}}}]
users: [{{name: test, user: {{token: {token}}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
current-context: test
"""
_LONE = ("--disable-admission-plugins=ServiceAccount",)
"""Nobody creates service accounts here."""
_JOBS = ("apis/quantumtraining.dev/v1beta1", "quantumtrainingjobs")
_RESOURCES = {
    "qtj": _JOBS,
    "pod": ("api/v1", "pods"),
    "pods": ("api/v1", "pods"),
    "service": ("api/v1", "services"),
    "configmaps": ("api/v1", "configmaps"),
    "deployment": ("apis/apps/v1", "deployments"),
    "deployments": ("apis/apps/v1", "deployments"),
}
"""What tests ask for often, and where an API server has it."""
_CREATED = {
    "QuantumTrainingJob": "quantumtrainingjobs",
    "Pod": "pods",
    "Event": "events",
    "Namespace": "namespaces",
}
_MANAGED = "--show-managed-fields"


@dataclass(frozen=True)
class Programs:
    """The programs that an API server needs, by path."""

    etcd: str
    apiserver: str
    kubectl: str


@dataclass(frozen=True)
class ApiServer:
    """A running API server and how to reach it."""

    url: str
    kubeconfig: Path
    programs: Programs
    token: str = TOKEN

    def kubectl(self, *words: str, manifest: object = None, check: bool = True) -> str:
        """What kubectl printed, on both streams; a manifest goes to `-f -`."""
        answer = subprocess.run(
            [self.programs.kubectl, f"--kubeconfig={self.kubeconfig}", *words],
            input=None if manifest is None else json.dumps(manifest),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert answer.returncode == 0 or not check, answer.stderr
        return answer.stdout + answer.stderr

    def get(self, *words: str) -> dict[str, Any]:
        """An object or a list of objects, as JSON."""
        found: dict[str, Any] = self._direct().get(words) or json.loads(self.kubectl("get", *words, "-o", "json"))
        return found

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Creates an object, as `kubectl create` does."""
        if not self._direct().create(manifest):
            self.kubectl("create", "-f", "-", manifest=manifest)

    def ensure_namespaces(self, *names: str) -> None:
        """Creates namespaces, or finds them: pytest may set up a module twice in a process, as its tests move on."""
        for name in names:
            answer = self.kubectl("create", "namespace", name, check=False)
            assert "created" in answer or "AlreadyExists" in answer, answer

    def refusal(self, manifest: Mapping[str, Any], namespace: str) -> str:
        """Why an object could not be created in a namespace, in the API server's words; nothing if it could."""
        placed = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
        try:
            self._direct().post(placed, "&dryRun=All")
        except HTTPError as refused:
            return str(json.load(refused)["message"])
        return ""

    def names(self, resource: str, namespace: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(resource, "-n", namespace)["items"]]

    def set_status(self, resource: str, namespace: str, name: str, status: Mapping[str, object]) -> None:
        """Writes a status, as a kubelet or a controller would."""
        if self._direct().set_status(resource, namespace, name, status):
            return
        patch = json.dumps({"status": status})
        words = ("--type=merge", f"--patch={patch}", "--subresource=status")
        self.kubectl("patch", resource, name, "-n", namespace, *words)

    def _direct(self) -> "_Direct":
        return _Direct(self.url, self.token)


class _Direct:
    """What kubectl would ask an API server for, each start of which takes a tenth of a second of processor time.

    Args:
        url: Where the server is.
        token: That of an administrator.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def get(self, words: Sequence[str]) -> dict[str, Any] | None:
        """Returns what `kubectl get` would with these words; None where only kubectl knows."""
        match [word for word in words if word != _MANAGED]:
            case [resource, "-n", namespace] if resource in _RESOURCES:
                name = ""
            case [resource, name, "-n", namespace] if resource in _RESOURCES:
                name = f"/{name}"
            case _:
                return None
        group, plural = _RESOURCES[resource]
        try:
            found = self._send("GET", f"{group}/namespaces/{namespace}/{plural}{name}")
        except HTTPError:
            return None  # kubectl says why
        kind = {"kind": found["kind"].removesuffix("List"), "apiVersion": found["apiVersion"]}
        if not name:
            found["items"] = [{**kind, **item} for item in found["items"]]
        for item in [found] if name else found["items"]:
            if _MANAGED not in words:
                item["metadata"].pop("managedFields", None)
        return found

    def create(self, manifest: Mapping[str, Any]) -> bool:
        """Creates an object; returns False where only kubectl can say why not."""
        if manifest["kind"] not in _CREATED:
            return False
        try:
            self.post(manifest)
        except HTTPError:
            return False
        return True

    def post(self, manifest: Mapping[str, Any], more: str = "") -> None:
        """Asks for an object of one of the kinds that tests create often, with more parameters of the request."""
        version, namespace = manifest["apiVersion"], manifest["metadata"].get("namespace")
        folder = f"{'apis' if '/' in version else 'api'}/{version}" + (f"/namespaces/{namespace}" if namespace else "")
        query = f"fieldManager=kubectl-create&fieldValidation=Strict{more}"
        self._send("POST", f"{folder}/{_CREATED[manifest['kind']]}?{query}", manifest)

    def set_status(self, resource: str, namespace: str, name: str, status: Mapping[str, object]) -> bool:
        """Changes a status; returns False where only kubectl can say why not."""
        if resource not in _RESOURCES:
            return False
        group, plural = _RESOURCES[resource]
        path = f"{group}/namespaces/{namespace}/{plural}/{name}/status?fieldManager=kubectl-patch"
        try:
            self._send("PATCH", path, {"status": status})
        except HTTPError:
            return False
        return True

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(
            f"{self._url}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": kind},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60, context=unverified()) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


def find_programs() -> Programs | None:
    """Returns the programs, or None when one of them is missing."""
    override = os.environ.get("QTJ_TOOLS")
    home = Path(override) if override else Path(program(KUBERNETES, "etcd")).parent
    # `go install` calls etcd after its folder.
    etcd = next((home / name for name in ("etcd", "server") if (home / name).exists()), None)
    apiserver, kubectl = home / "kube-apiserver", home / "kubectl"
    if etcd is None or not apiserver.exists() or not kubectl.exists():
        return None
    return Programs(str(etcd), str(apiserver), str(kubectl))


class Machine:
    """Where both programs run, each until its context ends; started again, they go on with the same data.

    Args:
        programs: The programs.
        folder: Where they keep their files.
        flags: More flags of kube-apiserver.
    """

    def __init__(self, programs: Programs, folder: Path, flags: Sequence[str] = ()) -> None:
        self.port = free_port()
        self._programs = programs
        self._folder = folder
        self._flags = flags
        self._store, self._peers = free_port(), free_port()

    @contextmanager
    def started(self) -> Iterator[ApiServer]:
        """Starts both programs, and stops exactly these two at the end."""
        with self.etcd(), self.apiserver() as server:
            yield server

    def etcd(self) -> AbstractContextManager[object]:
        """Starts etcd alone."""
        argv = etcd_command(self._programs.etcd, self._folder, self._store, self._peers)
        return process_running(argv, self._folder / "etcd.log")

    @contextmanager
    def apiserver(self) -> Iterator[ApiServer]:
        """Starts kube-apiserver alone, and waits until it is ready."""
        url, log = f"https://127.0.0.1:{self.port}", self._folder / "apiserver.log"
        tokens = {TOKEN: 'admin,1,"system:masters"', OPERATOR_TOKEN: f"{OPERATOR},2"}
        argv = apiserver_command(self._programs.apiserver, self._folder, self._store, self.port, tokens)
        with process_running((*argv, *_LONE, *self._flags), log):
            wait_until(lambda: ready(url), READY_SECONDS, f"the API server to be ready: see {log}")
            yield ApiServer(url, self.kubeconfig(self.port), self._programs)

    def kubeconfig(self, port: int) -> Path:
        """Writes a kubeconfig for the API server behind a port, which may be that of a go-between."""
        path = self._folder / f"kubeconfig-{port}"
        path.write_text(KUBECONFIG.format(url=f"https://127.0.0.1:{port}", token=TOKEN))
        return path


def etcd_command(path: str, folder: Path, port: int, peers: int) -> Sequence[str]:
    """Returns how etcd is started, alone and on the loopback address."""
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return (
        path,
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    )


def apiserver_command(path: str, folder: Path, store: int, port: int, tokens: Mapping[str, str]) -> Sequence[str]:
    """Returns how kube-apiserver is started, and writes the files that it reads.

    Args:
        path: The program.
        folder: Where its files are.
        store: The port of etcd.
        port: Its own port.
        tokens: What each token stands for: user name, id and groups, as its file has them.
    """
    key, users = folder / "service-accounts.key", folder / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    users.write_text("".join(f"{token},{user}\n" for token, user in tokens.items()))
    return (
        path,
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder}/certs",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={users}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.97.0.0/16",
    )


def ready(url: str, token: str = TOKEN) -> bool:
    """Tells whether an API server is ready."""
    request = urllib.request.Request(f"{url}/readyz", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=2, context=unverified()) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@cache
def unverified() -> ssl.SSLContext:
    """Returns what accepts the certificate that an API server has made for itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
