"""The pod failure policy of a Job: which failures end it, which count, and which do not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.local.jobs import JobController
from qtj.local.store import ClusterStore
from qtj_operator.controller.client import Resource

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def rule(action: str, operator: str, *values: int, container: str | None = None) -> dict[str, Any]:
    codes: dict[str, Any] = {"operator": operator, "values": list(values)}
    return {"action": action, "onExitCodes": {**codes, "containerName": container} if container else codes}


def disrupted(action: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def ended(*rules: dict[str, Any], codes: dict[str, int], conditions: tuple[dict[str, str], ...] = ()) -> str | None:
    """Returns why a Job without retries has ended once the containers of its pod ended so; else None."""
    store = ClusterStore(lambda: NOON)
    template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": name} for name in codes]}}
    spec = {"backoffLimit": 0, "podFailurePolicy": {"rules": list(rules)}, "template": template}
    store.create(Resource.JOBS, {"metadata": {"name": "inference", "namespace": "lab"}, "spec": spec})
    controller = JobController(store, lambda: NOON + timedelta(seconds=1))
    controller.step()
    [pod] = store.select(Resource.PODS, "lab", {})
    states = [{"name": name, "state": {"terminated": {"exitCode": code}}} for name, code in codes.items()]
    status = {"phase": "Failed", "conditions": list(conditions), "containerStatuses": states}
    store.update(Resource.PODS, "lab", pod["metadata"]["name"], lambda obj: obj.update(status=status))
    while controller.step():
        pass
    found = store.find(Resource.JOBS, "lab", "inference")["status"].get("conditions") or [{}]
    reason: str | None = found[0].get("reason")
    return reason


@pytest.mark.parametrize(
    ("operator", "code", "reason"),
    [
        ("In", 1, "PodFailurePolicy"), ("In", 2, "PodFailurePolicy"), ("In", 3, "BackoffLimitExceeded"),
        ("NotIn", 3, "PodFailurePolicy"), ("NotIn", 1, "BackoffLimitExceeded"),
    ],
)  # fmt: skip
def test_an_exit_code_is_in_the_list_or_not(operator: str, code: int, reason: str) -> None:
    assert ended(rule("FailJob", operator, 1, 2), codes={"trainer": code}) == reason


def test_a_rule_for_one_container_does_not_look_at_another() -> None:
    codes = {"trainer": 3, "shipper": 1}

    assert ended(rule("FailJob", "In", 1, container="trainer"), codes=codes) == "BackoffLimitExceeded"
    assert ended(rule("FailJob", "In", 1, container="shipper"), codes=codes) == "PodFailurePolicy"
    assert ended(rule("FailJob", "In", 1), codes=codes) == "PodFailurePolicy"


def test_a_container_that_succeeded_is_no_failure_of_any_code() -> None:
    assert ended(rule("FailJob", "NotIn", 3), codes={"trainer": 3, "shipper": 0}) == "BackoffLimitExceeded"


def test_the_first_rule_that_fits_decides() -> None:
    rules = (rule("Count", "In", 1), rule("FailJob", "In", 1))

    assert ended(*rules, codes={"trainer": 1}) == "BackoffLimitExceeded"
    assert ended(*reversed(rules), codes={"trainer": 1}) == "PodFailurePolicy"


@pytest.mark.parametrize(("status", "reason"), [("True", None), ("False", "BackoffLimitExceeded")])
def test_a_pod_that_was_disrupted_does_not_count_where_a_rule_says_so(status: str, reason: str | None) -> None:
    condition = {"type": "DisruptionTarget", "status": status}

    assert ended(disrupted("Ignore"), codes={"trainer": 137}, conditions=(condition,)) == reason
