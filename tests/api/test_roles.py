"""Which roles a strategy takes: the rules in Python, which say the same as their CEL."""

from typing import Any

import pytest

from qtj_operator.api.job import Job, ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.api.reading import InvalidJob
from qtj_operator.api.spec import Spec, Strategy
from tests.jobs import a_job, stored_job

NEEDS_ALL = "strategy ParameterServer needs the roles Chief (which coordinates), PS and Worker"
NO_PS = "the role PS belongs to strategy ParameterServer"
ONE_POD = "strategy Mirrored uses the devices of one pod: name one Worker, or use MultiWorkerMirrored"
ALL_ROLES: dict[str, Any] = {"Chief": {}, "PS": {}, "Worker": {}, "Evaluator": {}}


def job(strategy: str | None, roles: dict[str, Any]) -> Job:
    return Job.parse(stored_job(strategy=strategy, replicaSpecs=roles))


@pytest.mark.parametrize(
    ("strategy", "roles"),
    [
        (None, {"Worker": {"replicas": 3}}),
        (None, {"Chief": {}, "Worker": {}, "Evaluator": {}}),
        ("MultiWorkerMirrored", {"Chief": {}}),
        ("ParameterServer", {"Chief": {}, "PS": {"replicas": 2}, "Worker": {"replicas": 5}}),
        ("ParameterServer", ALL_ROLES),
        ("Mirrored", {"Worker": {}}),
        ("Mirrored", {"Worker": {"replicas": 1}}),
        ("Mirrored", {"Chief": {}}),
        ("Mirrored", {"Worker": {}, "Evaluator": {}}),
        ("None", ALL_ROLES),
        ("None", {"Worker": {"replicas": 7}, "PS": {}}),
    ],
)
def test_a_strategy_takes(strategy: str | None, roles: dict[str, Any]) -> None:
    assert {role.value for role, _ in job(strategy, roles).spec.replica_specs} == roles.keys()


@pytest.mark.parametrize(
    ("strategy", "roles", "sentence"),
    [
        ("ParameterServer", {"Chief": {}, "Worker": {}}, NEEDS_ALL),
        ("ParameterServer", {"PS": {}, "Worker": {}}, NEEDS_ALL),
        ("ParameterServer", {"Chief": {}, "PS": {}}, NEEDS_ALL),
        (None, {"Chief": {}, "PS": {}, "Worker": {}}, NO_PS),
        ("MultiWorkerMirrored", {"PS": {}, "Worker": {}}, NO_PS),
        ("Mirrored", {"PS": {}, "Worker": {}}, NO_PS),
        ("Mirrored", {"Worker": {"replicas": 2}}, ONE_POD),
        ("Mirrored", {"Chief": {}, "Worker": {}}, ONE_POD),
    ],
)
def test_a_strategy_refuses(strategy: str | None, roles: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        job(strategy, roles)

    assert str(refused.value) == f"spec: {sentence}"


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({"Evaluator": {}}, "spec.replicaSpecs: name at least one role: Worker or Chief"),
        ({"PS": {}}, "spec.replicaSpecs: name at least one role: Worker or Chief"),
        (
            {"Worker": {}, "Evaluator": {"replicas": 2}},
            "spec.replicaSpecs.Evaluator: a job has at most one Evaluator",
        ),
    ],
)
def test_some_roles_make_no_job_under_any_strategy(roles: dict[str, Any], sentence: str) -> None:
    for strategy in Strategy:
        with pytest.raises(InvalidJob) as refused:
            job(strategy, roles)

        assert str(refused.value) == sentence


def test_each_rule_is_written_in_cel_as_well_with_the_same_sentence() -> None:
    rules: Any = Spec.model_config["json_schema_extra"]
    messages = {rule["message"] for rule in rules["x-kubernetes-validations"]}

    assert {NEEDS_ALL, NO_PS, ONE_POD} <= messages


def test_roles_come_in_the_order_in_which_one_of_them_leads() -> None:
    spec = job("None", dict(reversed(ALL_ROLES.items()))).spec

    assert [role for role, _ in spec.replica_specs] == [Role.CHIEF, Role.WORKER, Role.PS, Role.EVALUATOR]


@pytest.mark.parametrize(
    ("shape", "leader"),
    [
        ({"chief": True, "workers": 2, "ps": 1, "strategy": "ParameterServer"}, ReplicaId(Role.CHIEF, 0)),
        ({"workers": 2, "ps": 1, "strategy": "None"}, ReplicaId(Role.WORKER, 0)),
        ({"workers": 2, "evaluator": True}, ReplicaId(Role.WORKER, 0)),
    ],
)
def test_neither_a_parameter_server_nor_the_evaluator_leads(shape: dict[str, Any], leader: ReplicaId) -> None:
    assert a_job(**shape).leader == leader


@pytest.mark.parametrize("strategy", [s for s in Strategy if s != Strategy.PARAMETER_SERVER])
def test_only_the_evaluator_stands_alone_where_workers_need_one_another(strategy: Strategy) -> None:
    each = a_job(workers=1, strategy=strategy)

    assert {role for role in Role if each.stands_alone(role)} == {Role.EVALUATOR}


def test_workers_of_a_parameter_server_stand_alone_as_well() -> None:
    each = a_job(chief=True, workers=2, ps=1, strategy="ParameterServer")

    assert {role for role in Role if each.stands_alone(role)} == {Role.WORKER, Role.EVALUATOR}
