"""The name of a job in TensorBoard."""

from collections.abc import Mapping
from datetime import UTC, datetime

import qtj_contract as contract

__all__ = ["run_name"]

_DIGITS = 8


def run_name(environment: Mapping[str, str]) -> str:
    """Returns the name of a replica's run: the same in all attempts of a job, and in no other job."""
    job, uid = (environment.get(each, "") for each in (contract.Env.JOB, contract.Env.JOB_UID))
    if job and uid:
        digits = uid.removeprefix(contract.SAME_SPEC_ID)[:_DIGITS]
        return f"{job.rpartition('/')[2]}-{digits}"
    return uid or f"local-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
