"""Edits of jobs in Git, and what becomes of finished jobs, with the real Argo CD."""

from pathlib import Path

import pytest

from qtj_contract import Env
from tests.gitops.application import GitOps, job

pytestmark = pytest.mark.slow  # Argo CD takes long to build

REPLACE = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}
HOOK = {"argocd.argoproj.io/hook": "Sync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
EXAMPLE = Path(__file__).parents[2] / "deploy" / "argocd" / "example"


def identity(gitops: GitOps, name: str = "qcnn") -> str:
    """What the program of the worker stores its result under."""
    gitops.has_pod(name)
    pod = gitops.server.get("pod", f"{name}-worker-0", "-n", gitops.namespace)
    (container,) = pod["spec"]["containers"]
    return next(str(each["value"]) for each in container["env"] if each["name"] == Env.JOB_UID)


def test_an_edit_of_a_job_that_has_started_is_a_sync_error_that_says_what_to_do(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job()})
    gitops.apply(gitops.application(automated=True))
    gitops.runs()

    gitops.repository.commit({"jobs/qcnn.yaml": job(epochs=9)})
    gitops.refresh()

    sentence = "template cannot be changed once the job has started: create a job with another name"
    gitops.until(lambda: sentence in str(gitops.status().get("operationState")), "the sync error")
    gitops.becomes("OutOfSync", "Progressing")


def test_with_names_by_content_an_edit_is_a_new_job_and_the_old_one_goes(gitops: GitOps) -> None:
    files = {f"jobs/{path.name}": path.read_text() for path in EXAMPLE.iterdir()}
    gitops.repository.commit(files)
    gitops.apply(gitops.application(automated=True))
    gitops.until(lambda: len(gitops.jobs()) == 1, "the job")
    (before,) = gitops.jobs()
    gitops.has_pod(before)

    gitops.repository.commit({"jobs/qcnn.yaml": files["jobs/qcnn.yaml"].replace("--epochs=25", "--epochs=50")})
    gitops.refresh()

    gitops.until(lambda: len(gitops.jobs()) == 1 and gitops.jobs() != [before], "the new job alone")
    (after,) = gitops.jobs()
    assert before.startswith("qcnn-")
    assert after.startswith("qcnn-")
    gitops.becomes("Synced", "Progressing")


def test_a_job_that_is_replaced_by_each_edit_keeps_its_name(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job(annotations=REPLACE)})
    gitops.apply(gitops.application(automated=True))
    gitops.runs()
    uid = gitops.job()["metadata"]["uid"]

    gitops.repository.commit({"jobs/qcnn.yaml": job(epochs=9, annotations=REPLACE)})
    gitops.refresh()

    gitops.until(lambda: gitops.is_new(uid), "the new job")
    gitops.becomes("Synced", "Progressing")
    assert gitops.job()["spec"]["template"]["spec"]["containers"][0]["args"] == ["train", "--epochs=9"]


@pytest.mark.parametrize(("policy", "same"), [("SameSpec", True), ("Never", False)])
def test_a_job_that_self_heal_creates_again_finds_its_result_if_its_author_wants_that(
    gitops: GitOps, policy: str, *, same: bool
) -> None:
    artifacts = {"uri": "gs://lab-bucket/qcnn", "reusePolicy": policy}
    gitops.repository.commit({"jobs/qcnn.yaml": job(artifacts=artifacts, runPolicy={"ttlSecondsAfterFinished": 1})})
    gitops.apply(gitops.application(automated=True))
    before, uid = identity(gitops), gitops.job()["metadata"]["uid"]

    gitops.ends()

    gitops.until(lambda: gitops.is_new(uid), "the job that self-heal creates")
    gitops.until(lambda: gitops.job().get("status", {}).get("attempt") == 1, "the new job to start")
    assert (identity(gitops) == before) is same


def test_a_job_that_is_a_hook_is_not_created_again_after_its_time_to_live(gitops: GitOps) -> None:
    hooked = job(annotations=HOOK, runPolicy={"ttlSecondsAfterFinished": 1})
    gitops.repository.commit({"jobs/qcnn.yaml": hooked})
    gitops.apply(gitops.application(automated=True))
    gitops.becomes("Synced", "Healthy")  # hooks are no difference: nothing starts by itself

    gitops.sync()
    gitops.ends()

    gitops.until(lambda: gitops.status()["operationState"]["phase"] == "Succeeded", "the sync, which waits for the job")
    gitops.until(lambda: gitops.jobs() == [], "the time to live")
    gitops.looks()

    assert gitops.state()[0] == "Synced"
    assert gitops.jobs() == []
