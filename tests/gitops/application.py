"""Applications of Argo CD, and the jobs that come out of them, as a user and a kubelet see them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from qtj_contract import TerminationMessage
from qtj_operator.api.names import NEWEST_API_VERSION
from tests.controller.operator_process import READY, Cluster
from tests.controller.test_operator import TRAINED
from tests.gitops.argocd import NAMESPACE
from tests.gitops.repository import Repository
from tests.gitops.settings_file import FOLDER
from tests.jobs import a_container, a_template
from tools.api_server import ApiServer
from tools.background import wait_until

_PATIENCE = 120.0
"""Seconds for Argo CD to do something; on an idle machine it is two."""

_REFRESH = "argocd.argoproj.io/refresh"
"""The annotation that asks Argo CD to look; it removes it when it has compared."""

REFRESH_SET = "argocd.argoproj.io/application-set-refresh"
"""The same for an ApplicationSet."""

Manifest = dict[str, Any]
State = tuple[str | None, str | None]


def job(
    name: str = "qcnn",
    *,
    epochs: int = 3,
    annotations: Mapping[str, str] | None = None,
    api_version: str = NEWEST_API_VERSION,
    **spec: Any,
) -> str:
    """A job of one worker, as it lies in Git."""
    fields = {
        "artifacts": {"uri": f"gs://lab-bucket/{name}"},
        "replicaSpecs": {"Worker": {}},
        "template": a_template(a_container(args=["train", f"--epochs={epochs}"])),
        **spec,
    }
    metadata = {"name": name, **({"annotations": dict(annotations)} if annotations else {})}
    kind = {"apiVersion": api_version, "kind": "QuantumTrainingJob"}
    return yaml.safe_dump({**kind, "metadata": metadata, "spec": fields})


def _policy(options: Sequence[str], *, automated: bool) -> Manifest:
    """Returns the sync policy of deploy/argocd, in a namespace that exists, with more options."""
    policy: Manifest = yaml.safe_load((FOLDER / "application.yaml").read_text())["spec"]["syncPolicy"]
    shipped = [each for each in policy["syncOptions"] if each != "CreateNamespace=true"]
    return {**(policy if automated else {}), "syncOptions": [*shipped, *options]}


def state_of(status: Manifest) -> State:
    """Returns whether the cluster is as Git says, and how healthy it is, by the status of an Application."""
    return status.get("sync", {}).get("status"), status.get("health", {}).get("status")


@dataclass(frozen=True)
class GitOps:
    """A namespace that is synced from a repository."""

    server: ApiServer
    namespace: str
    repository: Repository

    def application(
        self, name: str = "", path: str = "jobs", *, automated: bool = False, options: Sequence[str] = ()
    ) -> Manifest:
        """Returns an Application of a folder of the repository, with `syncOptions`."""
        kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
        metadata = {
            "name": name or self.namespace,
            "namespace": NAMESPACE,
            "finalizers": ["resources-finalizer.argocd.argoproj.io/foreground"],
        }
        return {**kind, "metadata": metadata, "spec": self._spec(path, automated, options)}

    def shipped(self, file: str) -> Manifest:
        """Returns an Application of deploy/argocd for this repository."""
        application: Manifest = yaml.safe_load((FOLDER / file).read_text())
        application["spec"]["source"]["repoURL"] = self.repository.url
        return application

    def application_set(self, *folders: str) -> Manifest:
        """Returns the set of one Application for each folder of the repository."""
        one = self.application(f"{self.namespace}-{{{{.folder}}}}", "{{.folder}}", automated=True)
        metadata = {key: value for key, value in one["metadata"].items() if key != "namespace"}
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "ApplicationSet",
            "metadata": {"name": self.namespace, "namespace": NAMESPACE},
            "spec": {
                "goTemplate": True,
                "generators": [{"list": {"elements": [{"folder": folder} for folder in folders]}}],
                "template": {"metadata": metadata, "spec": one["spec"]},
            },
        }

    def _spec(self, path: str, automated: bool, options: Sequence[str]) -> Manifest:
        return {
            "project": "default",
            "source": {"repoURL": self.repository.url, "path": path, "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": self.namespace},
            "syncPolicy": _policy(options, automated=automated),
        }

    def apply(self, manifest: Manifest) -> None:
        self.server.kubectl("apply", "-f", "-", manifest=manifest)

    def refresh(self, name: str = "") -> None:
        """Has Argo CD look into Git now, and not in three minutes."""
        self._kubectl("annotate", "application", name or self.namespace, f"{_REFRESH}=normal", "--overwrite")

    def refresh_all(self) -> None:
        """Has Argo CD look into Git now for every Application, and for every set of them."""
        for kind, note in (("applications", f"{_REFRESH}=normal"), ("applicationsets", f"{REFRESH_SET}=true")):
            self.server.kubectl("-n", NAMESPACE, "annotate", kind, "--all", note, "--overwrite", check=False)

    def looks(self, name: str = "") -> None:
        """Has Argo CD look into Git now, and waits until it has compared."""
        self.refresh(name)
        self.until(lambda: _REFRESH not in self._annotations(name), "the comparison")

    def sync(self, name: str = "") -> None:
        """Presses the button."""
        operation = '{"operation": {"initiatedBy": {"username": "jane"}, "sync": {"prune": true}}}'
        self._kubectl("patch", "application", name or self.namespace, "--type=merge", f"--patch={operation}")

    def status(self, name: str = "") -> Manifest:
        """Returns its status; nothing while an ApplicationSet has not made it yet."""
        return self.statuses().get(name or self.namespace, {})

    def statuses(self) -> Mapping[str, Manifest]:
        """Returns the status of each Application."""
        found = self.server.get("applications", "-n", NAMESPACE)["items"]
        return {each["metadata"]["name"]: each.get("status", {}) for each in found}

    def is_(self, sync: str, health: str, name: str = "") -> bool:
        return self.state(name) == (sync, health)

    def state(self, name: str = "") -> State:
        """Whether the cluster is as Git says, and how healthy it is."""
        return state_of(self.status(name))

    def becomes(self, sync: str, health: str, name: str = "") -> None:
        try:
            self.until(lambda: self.is_(sync, health, name), f"the application to be {sync} and {health}")
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {json.dumps(self.status(name))}") from problem

    def _annotations(self, name: str) -> Mapping[str, str]:
        found = self.server.get("application", name or self.namespace, "-n", NAMESPACE)
        return dict(found["metadata"].get("annotations", {}))

    def jobs(self) -> list[str]:
        return self.server.names("qtj", self.namespace)

    def uid(self, name: str = "qcnn") -> str:
        """Which object the job is; empty if there is none."""
        found = self.server.get("qtj", "-n", self.namespace)["items"]
        return next((str(each["metadata"]["uid"]) for each in found if each["metadata"]["name"] == name), "")

    def fails(self, sentence: str) -> None:
        """A sync ends with an error that has this sentence."""
        self.until(lambda: sentence in str(self.status().get("operationState")), f"the sync error: {sentence}")

    def terminate(self, name: str = "") -> None:
        """What `argocd app terminate-op` does."""
        phase = '{"status": {"operationState": {"phase": "Terminating"}}}'
        self._kubectl("patch", "application", name or self.namespace, "--type=merge", f"--patch={phase}")

    def is_new(self, uid: str) -> bool:
        """Whether there is one job, qcnn, and it is another object than the one with this uid."""
        found = [each["metadata"] for each in self.server.get("qtj", "-n", self.namespace)["items"]]
        return [each["name"] for each in found] == ["qcnn"] and found[0]["uid"] != uid

    def job(self, name: str = "qcnn") -> Manifest:
        return self.server.get("qtj", name, "-n", self.namespace)

    def until(self, holds: Any, what: str) -> None:
        wait_until(holds, _PATIENCE, what)

    def has_pod(self, name: str = "qcnn") -> None:
        pod = f"{name}-worker-0"
        self.until(lambda: pod in self.server.names("pods", self.namespace), f"the pod {pod}")

    def runs(self, name: str = "qcnn") -> None:
        """The kubelet starts the worker."""
        self.has_pod(name)
        self.server.set_status("pod", self.namespace, f"{name}-worker-0", READY)

    def ends(self, name: str = "qcnn", exit_code: int = 0) -> None:
        """The worker's program ends, and if well, with weights."""
        self.has_pod(name)
        message = TerminationMessage(error="no such file") if exit_code else TRAINED
        Cluster(self.server, self.namespace).ends(f"{name}-worker-0", exit_code, message)

    def _kubectl(self, *words: str) -> None:
        self.server.kubectl("-n", NAMESPACE, *words)
