"""Passes that fail again and again: the user reads what fails and since when, and not only the operator's log."""

from datetime import timedelta

import pytest

from qtj_operator.controller.client import ApiError
from tests.controller.lab import Lab, running

TOO_LARGE = ApiError(500, "InternalError", "rpc error: trying to send message larger than max (2114917 vs. 2097152)")
TIMEOUT = ApiError(0, "Unreachable", "the API server cannot be reached: timeout")
SINCE = "the operator cannot go on with this job since 2030-01-01T12:00:00Z, and tries again: "


async def fails(lab: Lab, times: int, error: type[Exception] = ApiError) -> None:
    for _ in range(times):
        with pytest.raises(error):
            await lab.settles()
        lab.waits(minutes=1)


def refusing(error: ApiError, begins: str) -> Lab:
    lab = Lab()
    lab.client.refuse = lambda call: error if call.startswith(begins) else None
    return lab


@pytest.mark.parametrize("error", [TOO_LARGE, TIMEOUT])
async def test_the_second_failure_in_a_row_is_told_in_the_status_and_in_one_event(error: ApiError) -> None:
    lab = refusing(error, "create pods")
    await lab.applies()
    await fails(lab, 1)
    first = await lab.status()
    await fails(lab, 5)

    assert first["reason"] == "Starting"
    assert (await lab.condition("Running"))["message"] == f"{SINCE}Pod qcnn-worker-0 cannot be created: {error}"
    assert (await lab.status())["phase"] == "Pending"
    assert (await lab.events()).count("ChildRejected") == 1


async def test_a_job_that_goes_on_says_so() -> None:
    lab = refusing(TOO_LARGE, "create pods")
    await lab.applies()
    await fails(lab, 3)
    lab.client.refuse = lambda _: None
    await lab.settles()

    assert (await lab.status())["reason"] == "Starting"
    lab.client.refuse = lambda call: TOO_LARGE if call.startswith("list pods") else None
    await fails(lab, 1)
    assert (await lab.status())["reason"] == "Starting", "it is the first failure in a row again"


async def test_a_defect_of_the_operator_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("unhashable type: 'list'")

    lab = await Lab.applied()
    monkeypatch.setattr("qtj_operator.core.incomplete.replica_pod", broken)
    await fails(lab, 2, TypeError)

    message = f"{SINCE}a defect of the operator, see its log (TypeError: unhashable type: 'list')"
    assert (await lab.condition("Running"))["message"] == message


async def test_a_job_that_runs_has_an_event_and_keeps_its_status() -> None:
    lab = await running(Lab())
    before = await lab.status()
    lab.client.refuse = lambda call: TOO_LARGE if call.startswith("list pods") else None
    await fails(lab, 4)

    assert await lab.status() == before
    assert (await lab.events()).count("ChildRejected") == 1


async def test_conflicts_are_not_told() -> None:
    lab = refusing(ApiError(409, "Conflict", "the object has been modified"), "create pods")
    await lab.applies()
    await fails(lab, 4)

    assert (await lab.status())["reason"] == "Starting"


async def test_what_cannot_be_told_is_told_once_the_server_takes_it() -> None:
    lab = refusing(TOO_LARGE, "")
    await lab.applies()
    lab.client.refuse = lambda call: TOO_LARGE if call.startswith(("create", "replace_status")) else None
    await fails(lab, 3)
    lab.client.refuse = lambda call: TOO_LARGE if call.startswith("create pods") else None
    assert await lab.passes() == timedelta(0)
    await fails(lab, 2)

    assert (await lab.status())["reason"] == "ChildRejected"
