"""MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE: one group of all that train, which the leader leads."""

import pytest

from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_container, a_job, a_template

NAMES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def groups(job: Job) -> list[tuple[str | None, ...]]:
    """The variables of each replica, in the order of NAMES."""
    return [tuple(variables(job, replica).get(name) for name in NAMES) for replica in job.replicas()]


def variables(job: Job, replica: ReplicaId) -> dict[str, str]:
    (container,) = replica_pod(job, replica, attempt=1)["spec"]["containers"]
    assert len({each["name"] for each in container["env"]}) == len(container["env"])
    return {each["name"]: each["value"] for each in container["env"]}


def test_worker_0_leads_two_workers() -> None:
    host = "qcnn-worker-0.lab.svc"

    assert groups(a_job(workers=2)) == [(host, "2222", "0", "2"), (host, "2222", "1", "2")]


def test_a_chief_is_rank_0_and_those_that_compute_no_gradients_are_not_in_the_group() -> None:
    job = a_job(
        strategy="ParameterServer",
        replicaSpecs={"Chief": {}, "Worker": {"replicas": 2}, "PS": {}, "Evaluator": {}},
        artifacts={"uri": "gs://abc"},
    )
    host, nothing = "qcnn-chief-0.lab.svc", (None,) * 4

    assert [replica.role for replica in job.replicas()] == [
        Role.CHIEF,
        Role.WORKER,
        Role.WORKER,
        Role.PS,
        Role.EVALUATOR,
    ]
    assert groups(job) == [*((host, "2222", str(rank), "3") for rank in range(3)), nothing, nothing]


@pytest.mark.parametrize("strategy", ["None", None])
def test_a_worker_alone_is_a_group_of_one_whatever_the_strategy(strategy: str | None) -> None:
    assert groups(a_job(workers=1, strategy=strategy)) == [("qcnn-worker-0.lab.svc", "2222", "0", "1")]


def test_replicas_with_one_service_have_the_names_below_it() -> None:
    job = a_job(workers=2, replicaService="Shared")

    assert {group[0] for group in groups(job)} == {"qcnn-worker-0.qcnn.lab.svc"}


def test_variables_of_the_author_stay() -> None:
    own = [{"name": "MASTER_PORT", "value": "29500"}, {"name": "WORLD_SIZE", "value": "1"}]
    job = a_job(workers=2, template=a_template(a_container(env=own)))

    assert groups(job)[1] == ("qcnn-worker-0.lab.svc", "29500", "1", "1")
