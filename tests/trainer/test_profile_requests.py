"""Profiles that are requested while a training runs: what a replica takes, and what it refuses."""

import pytest

from qtj_contract import Capture, ProfileSchedule
from qtj_trainer.replica.profile_requests import LateError, ProfileRequests, RefusedError

ID, OTHER = "0123abcd", "99999999"
REPLICAS = ("worker-0", "worker-1")


@pytest.fixture
def requests() -> ProfileRequests:
    return ProfileRequests(REPLICAS, lambda: 100, 3)


def test_a_request_starts_at_its_step(requests: ProfileRequests) -> None:
    asked = Capture(id=ID, step=6)
    requests.add(asked)

    assert requests.reach(4, 0.0, "") is None
    assert requests.reach(5, 0.0, "") == asked
    assert requests.reach(6, 0.0, asked.name) is None


@pytest.mark.parametrize("step", [1, 3, 4])
def test_a_step_that_has_begun_is_refused_because_the_peers_would_start_with_it(
    requests: ProfileRequests, step: int
) -> None:
    with pytest.raises(LateError, match=f"^step {step} has begun already: choose a later one$"):
        requests.add(Capture(id=ID, step=step))


def test_one_request_waits_at_a_time(requests: ProfileRequests) -> None:
    requests.add(Capture(id=ID, step=9))

    with pytest.raises(RefusedError, match=f"^the profile step-9-{ID} is taken first: try again when it is stored$"):
        requests.add(Capture(id=OTHER, step=9))


def test_a_request_is_refused_while_a_capture_is_running(requests: ProfileRequests) -> None:
    requests.reach(4, 0.0, "epoch-2")

    with pytest.raises(RefusedError, match=r"^the profile epoch-2 is taken first: "):
        requests.add(Capture(id=ID, step=9))


def test_a_request_waits_for_a_capture_that_began_before_it(requests: ProfileRequests) -> None:
    requests.add(Capture(id=ID, step=5))

    assert requests.reach(4, 0.0, "epoch-2") is None
    assert requests.reach(5, 0.0, "epoch-2") is None
    assert requests.reach(6, 0.0, "") == Capture(id=ID, step=5)


def test_a_request_that_was_withdrawn_never_starts(requests: ProfileRequests) -> None:
    requests.add(Capture(id=ID, step=5))
    requests.withdraw(Capture(id=OTHER, step=5))
    requests.withdraw(Capture(id=ID, step=5))

    assert requests.reach(4, 0.0, "") is None


def test_after_the_training_every_request_is_refused(requests: ProfileRequests) -> None:
    requests.add(Capture(id=ID, step=9))

    assert requests.close() == Capture(id=ID, step=9)
    with pytest.raises(RefusedError, match=r"^the training has ended$"):
        requests.add(Capture(id=OTHER, step=9))


def test_the_schedule_has_the_time_of_a_step_without_the_first_which_compiles(requests: ProfileRequests) -> None:
    requests.reach(3, 0.0, "")
    requests.reach(4, 60.0, "")
    assert requests.schedule() == ProfileSchedule(replicas=REPLICAS, step=4, steps=100)

    requests.reach(6, 61.0, "")
    assert requests.schedule() == ProfileSchedule(replicas=REPLICAS, step=6, steps=100, seconds_per_step=0.5)
