"""What an edit does to jobs that train: to those that it does not touch, and when the API server refuses it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.gitops.application import GitOps, job
from tests.gitops.test_jobs_as_code import EXAMPLE, HOOK, REPLACE, identity

pytestmark = pytest.mark.slow  # Argo CD takes long to build

REFUSAL = "spec.circuit.qubits in body should be greater than or equal to 4"
REFUSED = {"qubits": 0}
AS_IT_WAS = {"uri": "gs://lab-bucket/qcnn", "reusePolicy": "SameSpec"}


def by_content(**spec: Any) -> Mapping[str, str]:
    """A job that is named by its content, as in the example."""
    names = ("kustomization.yaml", "name-by-content.yaml")
    return {
        **{f"jobs/{name}": (EXAMPLE / name).read_text() for name in names},
        "jobs/qcnn.yaml": job(artifacts=AS_IT_WAS, **spec),
    }


def trains_by_content(gitops: GitOps, options: Sequence[str] = ()) -> str:
    """Returns the name of a job from Git that trains."""
    gitops.repository.commit(by_content())
    gitops.apply(gitops.application(automated=True, options=options))
    gitops.until(lambda: len(gitops.jobs()) == 1, "the job")
    (name,) = gitops.jobs()
    gitops.runs(name)
    return name


@pytest.mark.parametrize(("options", "same"), [((), False), (("ApplyOutOfSyncOnly=true",), True)])
def test_each_sync_replaces_every_job_that_is_replaced_by_edits(
    gitops: GitOps, options: Sequence[str], *, same: bool
) -> None:
    both = {f"jobs/{name}.yaml": job(name, annotations=REPLACE) for name in ("qcnn", "other")}
    gitops.repository.commit(both)
    gitops.apply(gitops.application(automated=True, options=options))
    gitops.runs("qcnn")
    gitops.runs("other")
    edited, other = gitops.uid("qcnn"), gitops.uid("other")

    gitops.repository.commit({"jobs/qcnn.yaml": job(epochs=9, annotations=REPLACE)})
    gitops.refresh()

    gitops.until(lambda: gitops.uid("qcnn") not in {"", edited}, "the edited job")
    gitops.becomes("Synced", "Progressing")
    assert (gitops.uid("other") == other) is same


def test_a_refused_edit_of_a_job_that_is_replaced_deletes_the_job(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job(annotations=REPLACE)})
    gitops.apply(gitops.application(automated=True))
    gitops.runs()

    gitops.repository.commit({"jobs/qcnn.yaml": job(circuit=REFUSED, annotations=REPLACE)})
    gitops.refresh()

    gitops.fails(REFUSAL)
    assert gitops.jobs() == []


def test_a_refused_edit_prunes_the_job_and_a_revert_continues_it(gitops: GitOps) -> None:
    name = trains_by_content(gitops)
    folder = identity(gitops, name)

    gitops.repository.commit(by_content(circuit=REFUSED))
    gitops.refresh()
    gitops.fails(REFUSAL)
    assert gitops.jobs() == []
    gitops.repository.commit(by_content())
    gitops.refresh()

    gitops.until(lambda: gitops.jobs() == [name], "the job of the first commit")
    assert identity(gitops, name) == folder
    gitops.becomes("Synced", "Progressing")


def test_a_misspelt_field_is_an_error_and_nothing_trains_without_it(gitops: GitOps) -> None:
    name = trains_by_content(gitops)

    gitops.repository.commit(by_content(artifact={"reusePolicy": "SameSpec"}))
    gitops.refresh()

    gitops.fails("artifact: field not declared in schema")
    assert gitops.jobs() == []
    gitops.repository.commit(by_content())
    gitops.refresh()
    gitops.until(lambda: gitops.jobs() == [name], "the job of the first commit")


def test_with_prune_last_a_refused_edit_leaves_the_job_alone(gitops: GitOps) -> None:
    name = trains_by_content(gitops, ["PruneLast=true"])
    uid = gitops.uid(name)

    gitops.repository.commit(by_content(circuit=REFUSED))
    gitops.refresh()

    gitops.fails(REFUSAL)
    assert gitops.uid(name) == uid


def test_with_prune_last_the_old_job_trains_until_the_new_one_is_complete(gitops: GitOps) -> None:
    before = trains_by_content(gitops, ["PruneLast=true"])

    gitops.repository.commit(by_content(epochs=9))
    gitops.refresh()
    gitops.until(lambda: len(gitops.jobs()) == 2, "both jobs")
    (after,) = {*gitops.jobs()} - {before}
    gitops.runs(after)
    gitops.until(lambda: gitops.job(after)["status"]["phase"] == "Running", "the new job to train")
    assert gitops.status()["operationState"]["phase"] == "Running", "no later commit is synced"
    assert before in gitops.jobs()
    gitops.ends(after)

    gitops.until(lambda: gitops.jobs() == [after], "the old job to go")


def test_a_hook_holds_up_later_commits_until_it_ends_or_the_sync_is_terminated(gitops: GitOps) -> None:
    gitops.repository.commit({"jobs/qcnn.yaml": job(annotations=HOOK), "jobs/other.yaml": job("other")})
    gitops.apply(gitops.application(automated=True))
    gitops.runs()
    uid = gitops.uid()

    commit = gitops.repository.commit({"jobs/third.yaml": job("third")})
    gitops.looks()
    assert gitops.status()["sync"]["revision"] == commit
    assert gitops.status()["operationState"]["phase"] == "Running"
    assert gitops.jobs() == ["other", "qcnn"]
    gitops.terminate()

    gitops.until(lambda: "third" in gitops.jobs(), "the next sync")
    gitops.until(lambda: gitops.uid() not in {"", uid}, "the hook to be created again")
