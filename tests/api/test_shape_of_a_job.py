"""The replicas of a job, their templates and its leader."""

from qtj_operator.api.job import ReplicaId, main_container
from qtj_operator.api.names import Role
from tests.jobs import a_container, a_job, a_template


def test_inference_runs_in_the_leaders_template_unless_it_has_its_own() -> None:
    own, leaders = a_template(a_container(image="small")), a_template(a_container(image="gpu"))
    roles = {"Chief": {"template": leaders}, "Worker": {}}

    assert a_job(replicaSpecs=roles, inference={}).inference_template.written == leaders
    assert a_job(replicaSpecs=roles, inference={"template": own}).inference_template.written == own


def test_worker_0_leads_without_a_chief() -> None:
    assert a_job(workers=2).leader == ReplicaId(Role.WORKER, 0)


def test_the_chief_leads_and_counts() -> None:
    job = a_job(chief=True, workers=2)

    assert job.leader == ReplicaId(Role.CHIEF, 0)
    assert job.size == 3
    assert list(job.replicas())[1:] == [ReplicaId(Role.WORKER, 0), ReplicaId(Role.WORKER, 1)]


def test_a_role_without_a_number_has_one_replica() -> None:
    assert a_job(replicaSpecs={"Worker": {}}).size == 1


def test_a_roles_own_template_replaces_the_jobs() -> None:
    own = a_template(a_container(image="gpu"))
    job = a_job(replicaSpecs={"Chief": {}, "Worker": {"template": own}})

    assert job.template(Role.WORKER).written == own
    assert job.template(Role.CHIEF).written == a_template()


def test_the_program_runs_in_the_container_called_trainer_or_else_the_first() -> None:
    assert main_container([{"name": "proxy"}, {"name": "trainer"}]) == {"name": "trainer"}
    assert main_container([{"name": "main"}, {"name": "proxy"}]) == {"name": "main"}
