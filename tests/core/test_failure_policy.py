"""`runPolicy.failurePolicy`: the first rule that applies decides, and the contract of exit codes where none does."""

from typing import Any

import pytest

from tests.core.world import World, parameter_servers, running_job


def ruled_job(*rules: dict[str, Any], **job: Any) -> World:
    return running_job(**{"runPolicy": {"backoffLimit": 1, "failurePolicy": {"rules": list(rules)}}, **job})


def outcome(world: World) -> tuple[str | None, int | None, int | None]:
    status = world.decide().status
    return status.reason, status.restarts, status.disruptions


def test_a_rule_makes_a_final_exit_code_a_restart() -> None:
    world = ruled_job({"action": "Restart", "exitCodes": [3, 4]})

    assert outcome(world.with_pod("worker-1", exit_code=3)) == ("Restarting", 1, None)
    assert outcome(world.with_pod("worker-1", exit_code=5)) == ("ReplicaFailed", 0, None)


def test_a_rule_makes_a_failure_cost_nothing() -> None:
    world = ruled_job({"action": "RestartIgnoringLimit", "exitCodes": [42]}).with_status(restarts=1)

    assert outcome(world.with_pod("worker-1", exit_code=42)) == ("Restarting", 1, 1)
    assert outcome(world.with_pod("worker-1", exit_code=137)) == ("BackoffLimitExceeded", 1, None)


def test_a_rule_makes_a_retryable_end_final() -> None:
    world = ruled_job({"action": "Fail", "reasons": ["OOMKilled"]}).with_pod(
        "worker-1", exit_code=137, reason="OOMKilled"
    )

    assert outcome(world)[0] == "ReplicaFailed"
    assert "a rule of failurePolicy fails the job" in [c.message for c in world.decide().status.conditions or ()][-1]


def test_a_rule_may_say_that_a_disruption_counts_or_ends_the_job() -> None:
    taken = {"exit_code": 143, "reason": "Error", "disrupted": True}

    counting = ruled_job({"action": "Restart", "reasons": ["Error"]}).with_pod("worker-1", **taken)
    assert outcome(counting) == ("Restarting", 1, None)
    ending = ruled_job({"action": "Fail", "reasons": ["Disrupted"]})
    assert outcome(ending.with_pod("worker-1", ready=True, deleting=True))[0] == "ReplicaFailed"


@pytest.mark.parametrize(("replica", "reason"), [("chief-0", "ReplicaFailed"), ("worker-0", "Restarting")])
def test_a_rule_may_be_for_one_role(replica: str, reason: str) -> None:
    world = ruled_job({"action": "Fail", "roles": ["Chief"]}, chief=True)

    assert outcome(world.with_pod(replica, exit_code=137))[0] == reason


def test_everything_that_a_rule_names_has_to_fit() -> None:
    world = ruled_job({"action": "Fail", "roles": ["Worker"], "exitCodes": [137], "reasons": ["OOMKilled"]})

    assert outcome(world.with_pod("worker-1", exit_code=137))[0] == "Restarting"
    assert outcome(world.with_pod("worker-1", exit_code=137, reason="OOMKilled"))[0] == "ReplicaFailed"


def test_the_first_rule_that_applies_decides() -> None:
    world = ruled_job({"action": "Restart", "exitCodes": [1]}, {"action": "Fail"})

    assert outcome(world.with_pod("worker-1", exit_code=1))[0] == "Restarting"
    assert outcome(world.with_pod("worker-1", exit_code=75))[0] == "ReplicaFailed"


def test_a_lone_worker_follows_the_rules_too() -> None:
    world = ruled_job(
        {"action": "RestartIgnoringLimit", "exitCodes": [42]},
        {"action": "Fail", "exitCodes": [75]},
        **parameter_servers(),
    ).with_status(restarts=1)

    assert outcome(world.with_pod("worker-1", exit_code=42))[1:] == (1, 1)
    assert outcome(world.with_pod("worker-1", exit_code=75))[0] == "ReplicaFailed"
    assert outcome(world.with_pod("worker-1", exit_code=137))[0] == "BackoffLimitExceeded"


def test_no_rule_makes_the_job_fail_with_its_evaluator() -> None:
    world = ruled_job({"action": "Fail"}, evaluator=True).with_pod("evaluator-0", exit_code=1)

    assert world.decide().status.phase == "Running"
