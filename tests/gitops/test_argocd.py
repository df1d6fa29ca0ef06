"""A folder of Git with jobs, and the real Argo CD that keeps a cluster like it."""

import pytest

from qtj_operator.api.names import API_VERSION, NEWEST_API_VERSION
from tests.gitops.application import GitOps, job

pytestmark = pytest.mark.slow  # Argo CD takes long to build


def test_an_application_is_healthy_when_its_job_is_complete(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job()})
    gitops.apply(gitops.application())
    gitops.becomes("OutOfSync", "Missing")

    gitops.sync()
    gitops.becomes("Synced", "Progressing")
    gitops.runs()
    gitops.becomes("Synced", "Progressing")
    gitops.ends()

    gitops.becomes("Synced", "Healthy")
    assert gitops.job()["status"]["phase"] == "Complete"


def test_nothing_that_the_operator_does_is_a_difference(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job()})
    gitops.apply(gitops.application(automated=True))
    gitops.ends()
    gitops.becomes("Synced", "Healthy")
    generation, synced = gitops.job()["metadata"]["generation"], gitops.status()["operationState"]["finishedAt"]

    gitops.looks()

    assert gitops.state() == ("Synced", "Healthy")
    assert gitops.job()["metadata"]["generation"] == generation == 1
    assert gitops.status()["operationState"]["finishedAt"] == synced
    assert resources(gitops) == ["QuantumTrainingJob"], "pods and Services are children, and not in Git"


def test_the_version_of_the_api_in_git_makes_no_difference(gitops: GitOps) -> None:
    def synced(api_version: str) -> tuple[str, int]:
        commit = gitops.repository.commit({"jobs/qcnn.yaml": job(api_version=api_version)})
        gitops.refresh()
        gitops.until(lambda: gitops.status().get("sync", {}).get("revision") == commit, "the commit")
        gitops.becomes("Synced", "Progressing")
        metadata = gitops.job()["metadata"]
        return metadata["uid"], metadata["generation"]

    gitops.repository.commit({"jobs/qcnn.yaml": job(api_version=API_VERSION)})
    gitops.apply(gitops.application(automated=True))
    gitops.runs()

    first = synced(API_VERSION)
    assert synced(NEWEST_API_VERSION) == first
    assert synced(API_VERSION) == first


def resources(gitops: GitOps) -> list[str]:
    """The kinds that Argo CD compares with Git."""
    return [each["kind"] for each in gitops.status()["resources"]]


def test_a_failed_job_degrades_its_application(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job()})
    gitops.apply(gitops.application(automated=True))

    gitops.ends(exit_code=1)

    gitops.becomes("Synced", "Degraded")


def test_a_suspended_job_suspends_its_application(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job()})
    gitops.apply(gitops.application(automated=True))
    gitops.runs()

    gitops.repository.commit({"jobs/qcnn.yaml": job(suspend=True)})
    gitops.refresh()

    gitops.becomes("Synced", "Suspended")


def test_a_job_that_leaves_git_leaves_the_cluster_with_all_its_children(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job(), "jobs/other.yaml": job("other")})
    gitops.apply(gitops.application(automated=True))
    gitops.runs("qcnn")
    gitops.runs("other")

    gitops.repository.commit({"jobs/qcnn.yaml": None})
    gitops.refresh()

    gitops.until(lambda: gitops.jobs() == ["other"], "the job to go")
    gitops.until(lambda: children(gitops) == {"other-worker-0"}, "its children to go")


def children(gitops: GitOps) -> set[str]:
    return {name for kind in ("pods", "services", "jobs") for name in gitops.server.names(kind, gitops.namespace)}


def test_an_application_set_makes_an_application_of_each_job(gitops: GitOps) -> None:
    gitops.repository.commit({"a/job.yaml": job("a"), "b/job.yaml": job("b")})
    gitops.apply(gitops.application_set("a", "b"))

    gitops.ends("a")
    gitops.ends("b", exit_code=1)

    gitops.becomes("Synced", "Healthy", name=f"{gitops.namespace}-a")
    gitops.becomes("Synced", "Degraded", name=f"{gitops.namespace}-b")
