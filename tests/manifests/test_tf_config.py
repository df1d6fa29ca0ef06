"""TF_CONFIG: every replica gets the same cluster and its own task in it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj_contract import Env
from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from qtj_operator.manifests.tf_config import tf_config
from tests.jobs import a_container, a_job, a_template

jobs = st.one_of(
    st.builds(a_job, chief=st.just(value=True), workers=st.integers(0, 20)),
    st.builds(a_job, workers=st.integers(1, 20), name=st.sampled_from(["q", "qcnn-8", "worker"])),
    st.builds(
        a_job,
        chief=st.just(value=True),
        workers=st.integers(1, 9),
        ps=st.integers(1, 9),
        strategy=st.sampled_from(["ParameterServer", "None"]),
    ),
)


def configs(job: Job) -> list[dict[str, Any]]:
    return [json.loads(tf_config(job, replica)) for replica in job.replicas()]


@given(jobs)
def test_every_replica_sees_the_same_cluster(job: Job) -> None:
    clusters = [config["cluster"] for config in configs(job)]

    assert all(cluster == clusters[0] for cluster in clusters)
    assert sum(len(addresses) for addresses in clusters[0].values()) == job.size


@given(jobs)
def test_every_replica_finds_itself_at_its_own_address(job: Job) -> None:
    for replica, config in zip(job.replicas(), configs(job), strict=True):
        task = config["task"]
        address = config["cluster"][task["type"]][task["index"]]

        assert address == f"{job.name}-{replica.role.task_type}-{replica.index}.lab.svc:2222"


@given(jobs)
def test_every_address_is_a_service_that_is_built_with_that_port(job: Job) -> None:
    services = [replica_service(job, replica) for replica in job.replicas()]
    reachable = {
        f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc:{port['port']}"
        for service in services
        for port in service["spec"]["ports"]
    }

    named = {address for addresses in configs(job)[0]["cluster"].values() for address in addresses}

    assert named <= reachable
    assert len(named) == job.size


@given(jobs)
def test_every_service_leads_to_exactly_the_pod_of_its_name(job: Job) -> None:
    pods = [replica_pod(job, replica, attempt=3) for replica in job.replicas()]
    for replica in job.replicas():
        service = replica_service(job, replica)
        selector = service["spec"]["selector"].items()

        selected = [pod["metadata"]["name"] for pod in pods if selector <= pod["metadata"]["labels"].items()]

        assert selected == [service["metadata"]["name"]]


@given(jobs)
def test_every_pod_carries_its_own(job: Job) -> None:
    for replica in job.replicas():
        (container,) = replica_pod(job, replica, attempt=1)["spec"]["containers"]
        environment = {variable["name"]: variable["value"] for variable in container["env"]}

        assert environment[Env.TF_CONFIG] == tf_config(job, replica)


@given(jobs)
def test_an_evaluator_has_a_task_of_its_own_and_is_in_no_cluster(job: Job) -> None:
    roles = job.spec.replica_specs.model_dump(by_alias=True, exclude_none=True)
    evaluated = a_job(
        name=job.name,
        strategy=job.spec.strategy,
        replicaSpecs={**roles, "Evaluator": {}},
        artifacts={"uri": "gs://abc"},
    )

    *others, evaluator = configs(evaluated)

    assert others == configs(job), "the others get the same as without it"
    assert evaluator == {"cluster": others[0]["cluster"], "task": {"type": "evaluator", "index": 0}}


def test_parameter_servers_get_all_addresses() -> None:
    (*_, config) = configs(a_job(chief=True, ps=2, workers=1, strategy="ParameterServer"))

    assert config == {
        "cluster": {
            "chief": ["qcnn-chief-0.lab.svc:2222"],
            "worker": ["qcnn-worker-0.lab.svc:2222"],
            "ps": ["qcnn-ps-0.lab.svc:2222", "qcnn-ps-1.lab.svc:2222"],
        },
        "task": {"type": "ps", "index": 1},
    }


def test_a_single_worker_gets_one_as_well_so_that_a_program_need_not_distinguish() -> None:
    (config,) = configs(a_job(workers=1))

    assert config == {"cluster": {"worker": ["qcnn-worker-0.lab.svc:2222"]}, "task": {"type": "worker", "index": 0}}


def test_a_single_chief_gets_one_as_well() -> None:
    (config,) = configs(a_job(chief=True, workers=None))

    assert config == {"cluster": {"chief": ["qcnn-chief-0.lab.svc:2222"]}, "task": {"type": "chief", "index": 0}}


def test_the_chief_is_first_because_it_leads() -> None:
    assert list(configs(a_job(chief=True, workers=2))[0]["cluster"]) == ["chief", "worker"]


def test_services_are_headless_and_find_peers_that_are_not_ready_yet() -> None:
    job = a_job()

    spec = replica_service(job, job.leader)["spec"]

    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is True


def test_services_show_grpc_profiler_and_metrics() -> None:
    job = a_job(profiler={"port": 6009})

    ports = replica_service(job, job.leader)["spec"]["ports"]

    assert {port["name"]: port["port"] for port in ports} == {"grpc": 2222, "profiler": 6009, "metrics": 2224}


def validated_by_estimator(environment: dict[str, str]) -> str:
    """Follows `RunConfig` of tensorflow_estimator 2.15: no cluster is one local worker, any other needs one chief."""
    config = json.loads(environment.get("TF_CONFIG", "{}"))
    cluster = config.get("cluster", {})
    if not cluster:
        assert config.get("task", {}).get("type", "worker") == "worker"
        return "local"
    return "distributed" if len(cluster.get("chief", ())) == 1 else "refused"


def environment(job: Job) -> dict[str, str]:
    (main,) = replica_pod(job, job.leader, 1)["spec"]["containers"]
    return {each["name"]: each["value"] for each in main["env"]}


@pytest.mark.parametrize("strategy", ["None", "Mirrored"])
def test_one_replica_that_needs_no_cluster_gets_none_and_estimators_run(strategy: str) -> None:
    assert Env.TF_CONFIG not in environment(a_job(workers=1, strategy=strategy))
    assert validated_by_estimator(environment(a_job(workers=1, strategy=strategy))) == "local"
    assert validated_by_estimator(environment(a_job(workers=None, chief=True, strategy="None"))) == "distributed"


def test_programs_for_several_workers_find_a_cluster_of_one() -> None:
    """The multi-worker guide of TensorFlow reads the number of workers from it."""
    for strategy in (None, "MultiWorkerMirrored"):
        config = json.loads(environment(a_job(workers=1, strategy=strategy))[Env.TF_CONFIG])
        assert len(config["cluster"]["worker"]) == 1


def test_more_replicas_always_have_a_cluster() -> None:
    assert Env.TF_CONFIG in environment(a_job(workers=2, strategy="None"))
    assert Env.TF_CONFIG in environment(a_job(workers=1, evaluator=True, strategy="None"))
    assert validated_by_estimator(environment(a_job(workers=2, chief=True, strategy="None"))) == "distributed"


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
