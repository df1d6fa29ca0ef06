"""The real Argo CD as processes of this machine: Redis, repo server, application and application set controller.

Its configuration is what its own install manifests have, as far as these three read it, and deploy/argocd of ours.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.missing import find_program
from tools.api_server import ApiServer
from tools.background import free_port, process_running, wait_until
from tools.cluster.tools import ARGOCD, HELM, program

NAMESPACE = "argocd"
HEALTH = Path(__file__).parents[2] / "deploy" / "argocd"
_PART_OF = {"app.kubernetes.io/part-of": "argocd"}
_CONFIG_MAPS = ("argocd-rbac-cm", "argocd-cmd-params-cm", "argocd-tls-certs-cm", "argocd-ssh-known-hosts-cm")
_RESYNC_SECONDS = 5

Manifest = dict[str, Any]


def install(server: ApiServer) -> None:
    """Creates everything that Argo CD needs before it starts, with this cluster as its only one."""
    server.kubectl("apply", "--server-side", "-f", str(ARGOCD.home / "manifests" / "crds"))  # too large otherwise
    kinds = "applications,applicationsets,appprojects"
    wait_until(lambda: "error" not in server.kubectl("get", kinds, "-A", check=False), 240, "the kinds of Argo CD")
    everything = {"apiVersion": "v1", "kind": "List", "items": _settings()}
    server.kubectl("apply", "-f", "-", manifest=everything)


def _settings() -> list[Manifest]:
    health = yaml.safe_load((HEALTH / "argocd-cm.yaml").read_text())
    health["metadata"]["labels"] = _PART_OF
    everything = [{"group": "*", "kind": "*"}]
    project = {
        "sourceRepos": ["*"],
        "destinations": [{"namespace": "*", "server": "*"}],
        "clusterResourceWhitelist": everything,
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        health,
        *(_named("v1", "ConfigMap", name) for name in _CONFIG_MAPS),
        {**_named("v1", "Secret", "argocd-secret"), "stringData": {"server.secretkey": "only-for-tests"}},
        {**_named("argoproj.io/v1alpha1", "AppProject", "default"), "spec": project},
    ]


def _named(version: str, kind: str, name: str) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": _PART_OF}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


@contextmanager
def argocd_running(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Runs Argo CD against a cluster that has its CRDs and `settings`, until the context ends.

    Args:
        kubeconfig: Of the cluster.
        folder: Where it keeps its files and its logs.
    """
    ports = iter(free_port, None)
    redis, repository = next(ports), next(ports)
    common = (f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}")
    served = ("--repo-server-plaintext", "--logformat=text")
    with ExitStack() as stack:

        def start(program: str, *options: str, name: str = "redis") -> None:
            stack.enter_context(_process((find_program(ARGOCD, program), *options), name, folder, kubeconfig))

        start("redis", str(redis))
        start(
            *("argocd", f"--redis=127.0.0.1:{redis}", f"--port={repository}", f"--metrics-port={next(ports)}"),
            *("--address=127.0.0.1", "--disable-tls", "--logformat=text"),
            name="argocd-repo-server",
        )
        start(
            *("argocd", *common, *served, f"--redis=127.0.0.1:{redis}", f"--repo-server=127.0.0.1:{repository}"),
            *(f"--metrics-port={next(ports)}", f"--app-resync={_RESYNC_SECONDS}", "--app-resync-jitter=0"),
            name="argocd-application-controller",
        )
        start(
            *("argocd", *common, *served, f"--argocd-repo-server=127.0.0.1:{repository}"),
            *(f"--{what}-addr=127.0.0.1:{next(ports)}" for what in ("metrics", "probe", "webhook")),
            name="argocd-applicationset-controller",
        )
        yield


@contextmanager
def _process(argv: Sequence[str], name: str, folder: Path, kubeconfig: Path) -> Iterator[None]:
    """Runs a program of Argo CD, all of which are one binary: the name decides."""
    tools = (Path(path).parent for path in (argv[0], program(HELM, "helm")))
    environment = {
        "PATH": ":".join([*map(str, tools), os.environ["PATH"]]),  # kustomize, and helm where it is built
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "KUBECONFIG": str(kubeconfig),  # the application set controller knows no option for it
        "ARGOCD_FAKE_IN_CLUSTER": "true",  # and it is the cluster that Applications call kubernetes.default.svc
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_BINARY_NAME": name,
    }
    with process_running(argv, folder / f"{name}.log", environment):
        yield
