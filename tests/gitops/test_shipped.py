"""The Applications of deploy/argocd, with a repository of the test in place of the one they name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gitops.application import REFRESH_SET, GitOps, job
from tests.gitops.settings_file import FOLDER
from tests.missing import find_program
from tools.cluster.tools import HELM

pytestmark = pytest.mark.slow  # Argo CD takes long to build

CHART = Path(__file__).parents[2] / "deploy" / "helm"
OF_THE_CLUSTER = "clusterroles,clusterrolebindings"


def shipped(file: str, gitops: GitOps, namespace: str) -> dict[str, Any]:
    application = gitops.shipped(file)
    application["metadata"]["name"] = application["spec"]["destination"]["namespace"] = namespace
    return application


def files(folder: Path, below: str) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {f"{below}/{path.relative_to(folder)}": path.read_text() for path in found}


@pytest.fixture
def space(gitops: GitOps) -> Iterator[str]:
    """The name of a namespace that does not exist yet."""
    name = f"{gitops.namespace}-of-git"
    yield name
    gitops.server.kubectl("delete", "application", name, "-n", "argocd", "--ignore-not-found")
    gitops.server.kubectl("delete", OF_THE_CLUSTER, "-l", "app.kubernetes.io/name=qtj-operator")
    gitops.server.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


def kinds(gitops: GitOps, name: str) -> set[str]:
    return {each["kind"] for each in gitops.status(name).get("resources", ()) if each["status"] == "Synced"}


def test_the_application_of_jobs_creates_its_namespace(gitops: GitOps, space: str) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job()})

    gitops.apply(shipped("application.yaml", gitops, space))

    gitops.becomes("Synced", "Progressing", space)
    assert gitops.server.names("qtj", space) == ["qcnn"]
    labels = gitops.server.get("namespace", space)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_operator_is_installed_from_git_and_stays_as_git_has_it(gitops: GitOps, space: str) -> None:
    find_program(HELM, "helm")
    gitops.repository.commit(files(CHART, "deploy/helm"))

    gitops.apply(shipped("operator.yaml", gitops, space))

    gitops.until(lambda: gitops.state(space)[0] == "Synced", "the sync")
    assert {"ClusterRole", "CustomResourceDefinition", "Deployment", "ServiceAccount"} <= kinds(gitops, space)
    deployment = gitops.server.get("deployment", "qtj-operator", "-n", space)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("registry.example.com/lab/qtj-operator:")
    gitops.until(lambda: gitops.status(space).get("operationState", {}).get("phase") == "Succeeded", "the sync to end")
    gitops.looks(space)
    assert gitops.state(space)[0] == "Synced"


def test_each_folder_has_an_application_which_is_deleted_with_it(gitops: GitOps, space: str) -> None:
    gitops.repository.commit({"jobs/first/qcnn.yaml": job("first"), "jobs/second/qcnn.yaml": job("second")})
    many = yaml.safe_load((FOLDER / "applicationset.yaml").read_text())
    one = shipped("application.yaml", gitops, space)["spec"]
    assert many["spec"]["template"]["spec"]["syncPolicy"] == one["syncPolicy"], "as that of one folder"
    many["metadata"]["name"] = space
    many["spec"]["generators"][0]["git"]["repoURL"] = gitops.repository.url
    many["spec"]["template"]["metadata"]["name"] = f"{space}-{{{{.path.basenameNormalized}}}}"
    template = many["spec"]["template"]["spec"]
    template["source"]["repoURL"], template["destination"] = gitops.repository.url, one["destination"]

    gitops.apply(many)

    for name in ("first", "second"):
        gitops.becomes("Synced", "Progressing", f"{space}-{name}")
    assert gitops.server.names("qtj", space) == ["first", "second"]
    gitops.repository.commit({"jobs/second/qcnn.yaml": None})
    gitops.server.kubectl("annotate", "applicationset", space, "-n", "argocd", f"{REFRESH_SET}=true", "--overwrite")
    gitops.until(lambda: gitops.server.names("qtj", space) == ["first"], "the job to be deleted with its folder")
    gitops.server.kubectl("delete", "applicationset", space, "-n", "argocd")
    gitops.until(lambda: not gitops.server.names("qtj", space), "all jobs to be deleted with the set")
