"""`Reconciling` and `Stalled`, which follow from the other conditions."""

import pytest

from qtj_operator.api.status import Status
from tests.core.world import World, complete_job, later, new_job, running_job, starting_job, trained_job


def derived(status: Status) -> dict[str, tuple[str, str]]:
    """The conditions that kstatus reads, with status and reason."""
    return {c.type: (c.status, c.reason) for c in status.conditions if c.type in {"Reconciling", "Stalled"}}


def failed_job() -> World:
    return running_job().with_pod("worker-0", exit_code=1).recorded()


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (new_job(), "Starting"),
        (starting_job(), "Starting"),
        (running_job().with_pods(ready=True), "AllReplicasReady"),
        (running_job(attempt=2).with_pods().recorded(), "Restarting"),
        (trained_job(inference={}), "Inferring"),
    ],
)
def test_a_job_that_is_not_over_is_being_reconciled(world: World, reason: str) -> None:
    assert derived(world.recorded().job.status) == {"Reconciling": ("True", reason)}


def test_a_complete_job_is_neither_reconciling_nor_stalled() -> None:
    assert derived(complete_job().recorded().job.status) == {"Reconciling": ("False", "InferenceDone")}


def test_a_suspended_job_is_as_its_spec_wants_it() -> None:
    suspended = running_job().with_spec(suspend=True).recorded()

    assert derived(suspended.job.status) == {"Reconciling": ("False", "Suspended")}


def test_a_failed_job_is_stalled_for_the_same_reason() -> None:
    status = failed_job().job.status

    assert derived(status) == {"Reconciling": ("False", "ReplicaFailed"), "Stalled": ("True", "ReplicaFailed")}
    assert len({c.message for c in status.conditions if c.type in {"Failed", "Stalled"}}) == 1


def test_a_job_that_is_tried_again_is_stalled_no_more() -> None:
    status = failed_job().with_spec(retry=1).recorded().job.status

    assert {kind: value for kind, (value, _) in derived(status).items()} == {"Reconciling": "True", "Stalled": "False"}


def test_a_job_that_is_another_than_the_one_its_spec_asks_for_is_stalled() -> None:
    status = running_job().with_pods(ready=True).with_status(fixed_digest="of another spec").recorded().job.status

    assert derived(status)["Stalled"] == ("True", "ImmutableFieldChanged")
    assert derived(status)["Reconciling"][0] == "False"


def test_neither_makes_an_event_of_its_own() -> None:
    events = [event.reason for event in running_job().with_pod("worker-0", exit_code=1).decide().events]

    assert events.count("ReplicaFailed") == 1


def test_the_transition_time_is_that_of_the_first_pass_that_says_so() -> None:
    world = starting_job().with_pods(ready=True).recorded()
    status = world.decide(later(minutes=5)).status

    times = {c.type: c.last_transition_time for c in status.conditions}
    assert times["Reconciling"] < later(minutes=5)
