"""The name of a job in TensorBoard."""

from collections.abc import Mapping
from datetime import UTC, datetime

import qtj_contract as contract
from qtj_contract import run_name as contract_run_name

__all__ = ["run_name"]


def run_name(environment: Mapping[str, str]) -> str:
    """Returns the name of a replica's run: the same in all attempts of a job, and in no other job."""
    job, uid = (environment.get(each, "") for each in (contract.Env.JOB, contract.Env.JOB_UID))
    return contract_run_name.run_name(job, uid) if job and uid else uid or f"local-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
