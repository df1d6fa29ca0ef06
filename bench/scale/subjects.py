"""What is compared: our operator, another one that is tuned, and a client that only creates what operators create."""

import base64
import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.scale.api import NAMESPACE, Manifest
from bench.scale.control_plane import OURS, PEER, ControlPlane
from tools.background import free_port, process_running, wait_until
from tools.cluster.paths import REPO
from tools.cluster.tools import PEER as PEER_TOOLS
from tools.cluster.tools import PEER_CRD, PEER_ROLE, program

_MOUNTED = Path("/tmp/k8s-webhook-server/serving-certs")  # where the peer looks for its certificate
_IMAGE = "example.invalid/train:1"
_CERTIFICATE = "training-operator-webhook-cert"
_TUNED = ("--kube-api-qps=1000", "--kube-api-burst=2000", "--controller-threads=16")
"""With its defaults it is throttled to 20 requests a second, and 13 times slower."""


@dataclass(frozen=True)
class Operator(ABC):
    """An operator that can be installed, started and given jobs.

    Attributes:
        name: In the tables.
        user: Its name in the audit log.
        api: Group and version of its jobs.
        plural: Their resource.
        health: The path of its probe.
    """

    name: str
    user: str
    api: str
    plural: str
    health: str = "/healthz"

    @abstractmethod
    def install(self, plane: ControlPlane) -> None:
        """Brings its CRD and its rights into the cluster."""

    @abstractmethod
    def command(self, plane: ControlPlane, port: int) -> Sequence[str]:
        """Returns how it is started."""

    @abstractmethod
    def job(self, name: str, workers: int, *, finish: bool = False) -> Manifest:
        """Returns a job of so many workers, whose pods may end at once."""


class Ours(Operator):
    """This project's operator."""

    def install(self, plane: ControlPlane) -> None:
        """Applies the CRD and binds the published ClusterRole."""
        plane.kubectl("apply", "-k", str(REPO / "crds"))
        roles = yaml.safe_load_all((REPO / "deploy/helm/files/operator/rbac.yaml").read_text())
        _grant(plane, next(role for role in roles if role["kind"] == "ClusterRole"), self.user)

    def command(self, plane: ControlPlane, port: int) -> Sequence[str]:
        """Runs the package, as the image does."""
        kubeconfig = f"KUBECONFIG={plane.kubeconfig(self.user)}"
        return "env", kubeconfig, sys.executable, "-m", "qtj_operator", f"--port={port}"

    def job(self, name: str, workers: int, *, finish: bool = False) -> Manifest:
        """Returns the smallest job."""
        spec = {
            "artifacts": {"uri": f"gs://bench/{name}"},
            "replicaSpecs": {"Worker": {"replicas": workers}},
            "runPolicy": {"cleanPodPolicy": "None"},
            "template": _template("trainer", finish=finish),
        }
        return _object(self.api, "QuantumTrainingJob", name) | {"spec": spec}


class Peer(Operator):
    """The training operator of Kubeflow 1.9, with its client unthrottled."""

    def install(self, plane: ControlPlane) -> None:
        """Applies its CRD and its role, and lets it make the certificate that it does not start without."""
        plane.kubectl("apply", "--server-side", "-f", str(PEER_TOOLS.home / PEER_CRD))
        _grant(plane, yaml.safe_load((PEER_TOOLS.home / PEER_ROLE).read_text()), self.user)
        hooks = _object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", _HOOKS)
        hooks["webhooks"] = []
        space = _object("v1", "Namespace", "kubeflow")
        secret = _object("v1", "Secret", _CERTIFICATE)
        secret["metadata"]["namespace"] = "kubeflow"
        _apply(plane, space, secret, hooks)
        plane.kubectl("wait", "crd/tfjobs.kubeflow.org", "--for=condition=Established", "--timeout=60s")
        with process_running(self.command(plane, free_port()), plane.folder / "peer-certificates.log"):
            wait_until(lambda: "tls.crt" in _certificates(plane), 60, "the peer's certificate")
        _MOUNTED.mkdir(parents=True, exist_ok=True)
        for name, text in _certificates(plane).items():
            (_MOUNTED / name).write_bytes(base64.b64decode(text))

    def command(self, plane: ControlPlane, port: int) -> Sequence[str]:
        """Runs the program with the flags that make it fast."""
        return (
            program(PEER_TOOLS, "training-operator.v1"),
            f"--kubeconfig={plane.kubeconfig(self.user)}",
            "--enable-scheme=tfjob",
            "--metrics-bind-address=0",
            f"--health-probe-bind-address=127.0.0.1:{port}",
            f"--webhook-server-port={free_port()}",
            *_TUNED,
        )

    def job(self, name: str, workers: int, *, finish: bool = False) -> Manifest:
        """Returns the smallest TFJob."""
        worker = {"replicas": workers, "restartPolicy": "Never", "template": _template("tensorflow", finish=finish)}
        return _object(self.api, "TFJob", name) | {"spec": {"tfReplicaSpecs": {"Worker": worker}}}


_HOOKS = "validator.training-operator.kubeflow.org"
ALL: Mapping[str, Operator] = {
    "ours": Ours("ours", OURS, "quantumtraining.dev/v1alpha1", "quantumtrainingjobs"),
    "peer": Peer("peer", PEER, "kubeflow.org/v1", "tfjobs"),
}


def prepare(plane: ControlPlane, operators: Sequence[Operator]) -> None:
    """Makes the namespace, with what its pods need, and installs operators."""
    plane.kubectl("create", "namespace", NAMESPACE)
    account = ("-n", NAMESPACE, "get", "serviceaccount", "default", "--ignore-not-found", "-o", "name")
    wait_until(lambda: plane.kubectl(*account), 60, "the namespace's service account")
    for operator in operators:
        operator.install(plane)


def is_running(job: Manifest) -> bool:
    """Tells whether a job of either kind is reported as running."""
    return _has(job, "Running")


def is_finished(job: Manifest) -> bool:
    """Tells whether a job of either kind is reported as having ended well."""
    return _has(job, "Complete") or _has(job, "Succeeded")


def children(jobs: int, workers: int) -> Iterator[tuple[str, str, Manifest]]:
    """Yields what an operator creates for so many jobs: a pod and a Service of each replica."""
    for job in range(jobs):
        for index in range(workers):
            name = f"job-{job}-worker-{index}"
            labels = {"quantumtraining.dev/job": f"job-{job}", "quantumtraining.dev/index": str(index)}
            pod = _object("v1", "Pod", name) | {"spec": _pod("trainer", _tf_config(job, workers, index))}
            service = _object("v1", "Service", name) | {"spec": _service(labels)}
            for each in (pod, service):
                each["metadata"]["labels"] = labels
            yield "v1", "pods", pod
            yield "v1", "services", service


def _tf_config(job: int, workers: int, index: int) -> str:
    hosts = [f"job-{job}-worker-{each}.scale.svc:2222" for each in range(workers)]
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})


def _service(labels: Mapping[str, str]) -> Manifest:
    ports = [{"name": "grpc", "port": 2222}, {"name": "profiler", "port": 2223}, {"name": "metrics", "port": 2224}]
    return {"clusterIP": "None", "selector": labels, "ports": ports, "publishNotReadyAddresses": True}


def _object(api: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}}


def _template(container: str, *, finish: bool) -> Manifest:
    metadata = {"metadata": {"labels": {"bench/finish": "true"}}} if finish else {}
    return {"spec": _pod(container)} | metadata


def _pod(container: str, tf_config: str = "") -> Manifest:
    main: Manifest = {"name": container, "image": _IMAGE, "command": ["train"]}
    if tf_config:
        main["env"] = [{"name": "TF_CONFIG", "value": tf_config}]
    return {"containers": [main]}


def _grant(plane: ControlPlane, role: Manifest, user: str) -> None:
    binding = _object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", f"bench-{role['metadata']['name']}")
    binding |= {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    _apply(plane, role, binding)


def _apply(plane: ControlPlane, *manifests: Manifest) -> None:
    plane.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))


def _certificates(plane: ControlPlane) -> dict[str, str]:
    try:
        secret = json.loads(plane.kubectl("-n", "kubeflow", "get", "secret", _CERTIFICATE, "-o", "json"))
    except subprocess.CalledProcessError:
        return {}
    found: dict[str, str] = secret.get("data", {})
    return found


def _has(job: Manifest, condition: str) -> bool:
    conditions = job.get("status", {}).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)
