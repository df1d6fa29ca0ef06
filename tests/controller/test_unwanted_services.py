"""Services that a changed spec no longer asks for: a quota counts them, so they make room for what it asks for."""

import pytest

from qtj_operator.controller.client import ApiError
from tests.controller.lab import Lab, restarted, running

ROOM = 4


def full(lab: Lab) -> None:
    """A quota has room for some Services."""

    def refuse(call: str) -> ApiError | None:
        is_one_more = call.startswith("create services") and len(lab.services) >= ROOM
        return ApiError(403, "Forbidden", f"exceeded quota: services={ROOM}") if is_one_more else None

    lab.client.refuse = refuse


@pytest.mark.parametrize(
    ("change", "services"),
    [
        ({"replicaService": "Shared"}, ["qcnn"]),
        ({"replicaSpecs": {"Worker": {"replicas": 2}}}, ["qcnn-worker-0", "qcnn-worker-1"]),
    ],
    ids=["one for all", "fewer replicas"],
)
async def test_a_job_that_has_too_many_for_a_quota_starts_once_its_spec_asks_for_fewer(
    change: dict[str, object], services: list[str]
) -> None:
    lab = Lab()
    full(lab)
    await lab.applies(replicaSpecs={"Worker": {"replicas": 6}}, tensorboard={})
    await lab.settles()
    assert (await lab.status())["reason"] == "ChildRejected"

    await lab.edits(**change)
    await lab.settles_after(seconds=61)
    await lab.settles_after(seconds=61)
    await lab.starts()

    assert await lab.phase() == "Running"
    assert sorted(lab.services) == sorted([*services, "qcnn-tensorboard"])


async def test_replicas_that_run_keep_their_services_whatever_becomes_of_the_spec() -> None:
    """The API server admits no such edit; somebody may have changed the CRD."""
    lab = await running(Lab())
    before = lab.services

    await lab.edits(replicaService="Shared")
    await lab.settles()
    assert lab.services == before


async def test_a_restart_keeps_the_services() -> None:
    lab = await running(Lab())
    before = lab.services

    await restarted(lab)

    assert lab.services == before
    assert not any(call.startswith("delete services") for call in lab.client.calls)
