"""TF_CONFIG, and the role of this process in it."""

import json

import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.replicate.cluster import Cluster

SERVERS = {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1", "d:1"]}


def cluster(members: dict[str, list[str]], role: str, index: int) -> Cluster:
    return Cluster.from_environment(
        {"TF_CONFIG": json.dumps({"cluster": members, "task": {"type": role, "index": index}})}
    )


def test_without_tf_config_a_process_is_alone_and_leads() -> None:
    alone = Cluster.from_environment({})

    assert (alone.size, alone.leads) == (1, True)


def test_worker_0_leads_where_there_is_no_chief() -> None:
    assert cluster({"worker": ["a:1", "b:1"]}, "worker", 0).leads
    assert not cluster({"worker": ["a:1", "b:1"]}, "worker", 1).leads


def test_the_chief_leads_where_there_is_one() -> None:
    members = {"chief": ["a:1"], "worker": ["b:1", "c:1"]}

    assert cluster(members, "chief", 0).leads
    assert not cluster(members, "worker", 0).leads
    assert cluster(members, "worker", 0).size == 3


@pytest.mark.parametrize("text", ["{", "[]", '{"cluster": {}}', '{"cluster": {"worker": ["a:1"]}, "task": {}}'])
def test_a_tf_config_that_is_none_is_quoted(text: str) -> None:
    with pytest.raises(UserError, match="TF_CONFIG is not like") as refused:
        Cluster.from_environment({"TF_CONFIG": text})

    assert repr(text) in str(refused.value)


def test_a_worker_its_cluster_does_not_list_is_refused() -> None:
    with pytest.raises(UserError, match="worker 2, which its cluster does not list"):
        cluster({"worker": ["a:1", "b:1"]}, "worker", 2)


def test_parameter_servers_and_workers_serve_their_chief() -> None:
    serving = {(role, index): cluster(SERVERS, role, index).serves for role, index in
               (("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1))}  # fmt: skip

    assert serving == {("chief", 0): False, ("ps", 0): True, ("worker", 0): True, ("worker", 1): True}


def test_workers_without_a_coordinator_do_not_serve() -> None:
    assert not cluster({"worker": ["a:1", "b:1"]}, "worker", 1).serves


def test_a_role_that_no_strategy_knows_is_refused() -> None:
    with pytest.raises(UserError, match="the role 'master', which this trainer does not have"):
        cluster({"master": ["a:1"]}, "master", 0)


def test_an_evaluator_neither_leads_nor_serves_and_is_no_member() -> None:
    environment = {"TF_CONFIG": json.dumps({"cluster": SERVERS, "task": {"type": "evaluator", "index": 0}})}

    evaluator = Cluster.from_environment(environment, may_evaluate=True)

    assert (evaluator.evaluates, evaluator.leads, evaluator.serves, evaluator.me) == (True, False, False, None)
    assert evaluator.size == 4


def test_a_program_without_an_evaluator_reports_so() -> None:
    with pytest.raises(UserError, match="its program evaluates no checkpoints: remove the role Evaluator"):
        cluster(SERVERS, "evaluator", 0)


def test_no_other_role_evaluates() -> None:
    assert not Cluster.alone().evaluates
    assert not cluster(SERVERS, "chief", 0).evaluates


@pytest.mark.parametrize(("members", "missing"), [
    ({"ps": ["a:1"], "worker": ["b:1"]}, "chief"),
    ({"ps": ["a:1"], "chief": ["b:1"]}, "worker"),
])  # fmt: skip
def test_parameter_servers_need_a_chief_and_workers(members: dict[str, list[str]], missing: str) -> None:
    with pytest.raises(UserError, match=f"parameter servers and no {missing}: add one"):
        cluster(members, "ps", 0)
