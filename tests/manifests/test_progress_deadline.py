"""The variable with which a replica knows when to write its stacks."""

from pathlib import Path

import pytest

from qtj_contract import Env
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.manifests.pod import replica_pod
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from tests.jobs import a_job


@pytest.mark.parametrize(("policy", "seconds"), [({"progressDeadlineSeconds": 60}, 60), ({}, None)])
def test_a_replica_is_told_its_deadline(policy: dict[str, int], seconds: int | None, tmp_path: Path) -> None:
    job = a_job(workers=2, runPolicy=policy)
    [container] = replica_pod(job, ReplicaId(Role.WORKER, 1), 1)["spec"]["containers"]
    told = {each["name"]: each["value"] for each in container["env"]}

    name = Env.PROGRESS_DEADLINE
    replica = Replica.join({name: told[name]} if name in told else {}, Stop(), str(tmp_path))

    assert replica.telemetry.clock.deadline == seconds
