"""Which jobs may have elastic workers: the rules in Python, which say the same as their CEL."""

from typing import Any

import pytest

from qtj_operator.api.job import Job
from qtj_operator.api.reading import InvalidJob
from qtj_operator.api.spec import Spec
from tests.jobs import stored_job

TOGETHER = (
    "runPolicy.elastic needs pods that are placed one by one: remove gang and queueName from runPolicy.schedulingPolicy"
)
WORKERS = (
    "runPolicy.elastic changes the number of workers: it needs the role Worker and the strategy MultiWorkerMirrored or "
    "None"
)
TOO_MANY = "runPolicy.elastic.minReplicas is greater than the replicas of Worker: lower it, or raise them"
TOO_FEW = "runPolicy.elastic.maxReplicas is smaller than the replicas of Worker: raise it, or lower them"
SERVERS = {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}}


def job(elastic: dict[str, int], scheduling: dict[str, Any] | None = None, **spec: Any) -> Job:
    policy: dict[str, Any] = {"elastic": elastic, **({"schedulingPolicy": scheduling} if scheduling else {})}
    return Job.parse(stored_job(runPolicy=policy, **spec))


@pytest.mark.parametrize(
    ("elastic", "spec"),
    [
        ({"minReplicas": 2}, {}),
        ({"minReplicas": 1, "maxReplicas": 2}, {"strategy": "MultiWorkerMirrored"}),
        ({"minReplicas": 1, "maxReplicas": 9, "scaleDownAfterSeconds": 10, "scaleUpAfterSeconds": 10}, {}),
        ({"minReplicas": 1}, {"strategy": "None", "replicaSpecs": {"Chief": {}, "Worker": {}}}),
    ],
)
def test_workers_may_be_elastic(elastic: dict[str, int], spec: dict[str, Any]) -> None:
    assert job(elastic, **spec).policy.elastic is not None


@pytest.mark.parametrize(
    ("elastic", "spec", "sentence"),
    [
        ({"minReplicas": 3}, {}, TOO_MANY),
        ({"minReplicas": 2}, {"replicaSpecs": {"Worker": {}}}, TOO_MANY),
        ({"minReplicas": 1, "maxReplicas": 1}, {}, TOO_FEW),
        ({"minReplicas": 1}, {"strategy": "ParameterServer", "replicaSpecs": SERVERS}, WORKERS),
        ({"minReplicas": 1}, {"strategy": "Mirrored", "replicaSpecs": {"Worker": {}}}, WORKERS),
        ({"minReplicas": 1}, {"replicaSpecs": {"Chief": {}}}, WORKERS),
        ({"minReplicas": 1}, {"scheduling": {"gang": True}}, TOGETHER),
        ({"minReplicas": 1}, {"scheduling": {"queueName": "team"}}, TOGETHER),
    ],
)
def test_they_may_not(elastic: dict[str, int], spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        job(elastic, **spec)

    assert str(refused.value) == f"spec: {sentence}"


def test_each_rule_is_written_in_cel_as_well_with_the_same_sentence() -> None:
    rules: Any = Spec.model_config["json_schema_extra"]

    assert {TOGETHER, WORKERS, TOO_MANY, TOO_FEW} <= {rule["message"] for rule in rules["x-kubernetes-validations"]}
