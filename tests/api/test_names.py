"""Names of jobs and of their children."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtj_operator.api.job import Job
from qtj_operator.api.names import MAX_NAME_LENGTH, MAX_REPLICAS, NAME_PATTERN, Role, child_labels, replica_host
from qtj_operator.api.status import WeightsStatus
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from tests.jobs import a_job

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")

legal_names = st.from_regex(NAME_PATTERN, fullmatch=True).map(lambda name: name.rstrip("\n")[:MAX_NAME_LENGTH])


def children(job: Job) -> list[dict[str, object]]:
    """The metadata of the children that have the longest names, and of the inference Job."""
    assert job.inference is not None
    last = max(job.replicas())
    weights = WeightsStatus(uri="gs://lab-bucket/w", sha256="ab" * 32)
    manifests = [
        replica_pod(job, last, attempt=1_000_000),
        replica_service(job, last),
        inference_job(job, job.inference, weights),
    ]
    return [manifest["metadata"] for manifest in manifests]


@settings(deadline=None)  # a job of 10,000 workers takes as long as the machine is busy
@given(name=st.one_of(legal_names.filter(lambda n: not n.endswith("-")), st.just("q" * MAX_NAME_LENGTH)))
def test_every_child_of_a_legal_job_has_a_name_that_dns_takes(name: str) -> None:
    # Two roles at most, so the largest job is known by its last worker: building all 1,000 shows nothing more.
    job = a_job(name=name, chief=True, workers=MAX_REPLICAS, inference={})

    for metadata in children(job):
        assert len(str(metadata["name"])) <= 63
        assert DNS_LABEL.fullmatch(str(metadata["name"]))


def test_the_longest_name_leaves_room_for_every_role() -> None:
    job = a_job(name="q" * MAX_NAME_LENGTH, workers=MAX_REPLICAS, inference={})

    assert max(len(str(metadata["name"])) for metadata in children(job)) == len("q" * MAX_NAME_LENGTH + "-worker-999")
    assert len("q" * MAX_NAME_LENGTH + "-evaluator-0") == 63


def test_every_label_of_a_child_is_a_legal_label_value() -> None:
    job = a_job(name="q" * MAX_NAME_LENGTH, workers=MAX_REPLICAS, inference={})

    for metadata in children(job):
        labels = metadata["labels"]
        assert isinstance(labels, dict)
        assert [v for v in labels.values() if not LABEL_VALUE.fullmatch(v) or len(v) > 63] == []


@pytest.mark.parametrize("name", ["1qcnn", "q.cnn", "q_cnn", "-qcnn", "qcnn-", "Qcnn", ""])
def test_a_name_that_no_service_may_have_is_not_legal(name: str) -> None:
    assert re.search(NAME_PATTERN, name) is None


def test_a_replica_is_called_after_its_job_role_and_number_in_every_cluster_domain() -> None:
    assert replica_host("qcnn", "lab", Role.CHIEF, 0) == "qcnn-chief-0.lab.svc"


def test_two_jobs_with_similar_names_share_no_child() -> None:
    assert child_labels("qcnn") != child_labels("qcnn-worker")
