"""ApplicationSets of Argo CD."""

from typing import Any

from tests.gitops.application import GitOps
from tests.gitops.argocd import NAMESPACE


def application_set(gitops: GitOps, *folders: str) -> dict[str, Any]:
    """Returns the set of one Application for each folder of the repository."""
    one = gitops.application(f"{gitops.namespace}-{{{{.folder}}}}", "{{.folder}}", automated=True)
    metadata = {key: value for key, value in one["metadata"].items() if key != "namespace"}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": gitops.namespace, "namespace": NAMESPACE},
        "spec": {
            "goTemplate": True,
            "generators": [{"list": {"elements": [{"folder": folder} for folder in folders]}}],
            "template": {"metadata": metadata, "spec": one["spec"]},
        },
    }
