"""The API server's time, learnt from the Date of its answers. Both clocks are those of the test."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from qtj_operator.cluster.clock import ServerClock
from qtj_operator.controller.client import Resource
from tests.controller.api_objects import connected
from tools.api_server import ApiServer

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Clocks:
    """An operator whose clock says `ahead` seconds more than the server's, and what it makes of answers."""

    def __init__(self, ahead: float = 0) -> None:
        self.seconds = 1000.0
        self.start = NOON + timedelta(seconds=ahead)
        self.clock = ServerClock(wall=lambda: self.start, steady=lambda: self.seconds)

    def answer(self, *, off: float = 0, there: float = 0.01, back: float = 0.01) -> None:
        """An answer arrives; its server's clock is `off` seconds ahead of the right time."""
        sent = self.seconds
        said = NOON + timedelta(seconds=sent - 1000 + there + off)
        self.seconds += there + back
        self.clock.update(format_datetime(said, usegmt=True), sent)

    def waits(self, seconds: float) -> None:
        self.seconds += seconds

    @property
    def error(self) -> float:
        """By how much the operator's time is ahead of the right one."""
        return (self.clock.now() - NOON).total_seconds() - int(self.seconds - 1000)


def test_until_the_server_has_spoken_the_operators_own_clock_has_to_do() -> None:
    clocks = Clocks(ahead=50)
    clocks.waits(10)

    assert clocks.clock.now() == NOON + timedelta(seconds=60)


@pytest.mark.parametrize("ahead", [50, -50, 3600, -86400, 1.5, -2])
def test_three_answers_tell_the_time(ahead: float) -> None:
    clocks = Clocks(ahead)

    for _ in range(3):
        clocks.waits(0.37)
        clocks.answer()

    assert abs(clocks.error) <= 1


def test_one_odd_answer_changes_nothing_and_neither_do_two() -> None:
    clocks = Clocks()
    clocks.answer()
    before = clocks.error

    clocks.answer(off=3600)
    clocks.answer(off=-3600)
    clocks.answer(off=-3600)
    clocks.answer()
    clocks.answer(off=3600)

    assert clocks.error == before


def test_answers_that_disagree_with_one_another_move_time_no_further_than_all_of_them_ask_for() -> None:
    clocks = Clocks()

    for off in (7200, 40, 3600):
        clocks.answer(off=off)

    assert clocks.error == pytest.approx(40, abs=1)


def test_time_stays_between_two_servers_that_disagree() -> None:
    clocks, chance = Clocks(), random.Random(1)
    errors = []
    for _ in range(2000):
        clocks.waits(0.1)
        clocks.answer(off=chance.choice((0, 10)))
        errors.append(clocks.error)

    assert 0 <= min(errors) <= max(errors) <= 10


def test_a_clock_that_is_right_stays_as_it_is_whatever_the_second_in_which_answers_come() -> None:
    clocks, chance = Clocks(ahead=0.3), random.Random(2)

    for _ in range(2000):
        clocks.waits(chance.random())
        clocks.answer(there=chance.random() / 10, back=chance.random() / 10)

        assert clocks.error in {0, 1}, "0.3 s ahead"


def test_a_long_round_trip_says_little_and_does_no_harm() -> None:
    clocks = Clocks(ahead=5)

    for _ in range(10):
        clocks.answer(there=14, back=0.1)
        clocks.answer(there=0.1, back=14)
    assert clocks.error in {5, 6}

    for _ in range(3):
        clocks.answer()
    assert abs(clocks.error) <= 1


@pytest.mark.parametrize(("there", "back"), [(14, 0.1), (0.1, 14)])
def test_a_clock_that_is_right_stays_so_over_a_line_that_is_slow_one_way(there: float, back: float) -> None:
    clocks = Clocks()

    for _ in range(10):
        clocks.answer(there=there, back=back)

    assert clocks.error in {-1, 0, 1}


def test_a_server_whose_clock_was_put_right_is_believed_after_three_answers() -> None:
    clocks = Clocks()
    for _ in range(5):
        clocks.answer()

    errors = []
    for _ in range(3):
        clocks.answer(off=-600)
        errors.append(round(clocks.error, -1))

    assert errors == [0, 0, -600]


async def test_a_kube_apiserver_tells_its_time(api_server: ApiServer) -> None:
    clock = ServerClock(wall=lambda: datetime.now(UTC) + timedelta(hours=1))
    client = connected(api_server.url, api_server.token, clock)
    try:
        for _ in range(3):
            await client.list(Resource.QUANTUM_TRAINING_JOBS, None, {})
    finally:
        await client.close()

    assert abs(client.now() - datetime.now(UTC)) < timedelta(seconds=3)
