"""Which end-to-end scenarios run side by side."""

import random
import threading

import pytest

from tests.e2e import __main__ as e2e
from tests.e2e.checks import Checks
from tests.e2e.world import World

Log = list[tuple[str, str]]
"""Starts and ends, with the scenario's name."""
TABLES = (e2e.ALONE, e2e.TOGETHER, e2e.WAITING, e2e.CLUSTER, e2e.RARE, e2e.LONG)


class NoWorld(World):
    """Nothing is watched."""

    def __init__(self) -> None:
        self.namespace = "none"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """What happened, with scenarios that do nothing; those that may overlap give others the time to."""
    found: Log = []

    def replaced(name: str) -> e2e.Scenario:
        def scenario(*_: object) -> None:
            found.append(("starts", name))
            threading.Event().wait(0.005)
            found.append(("ends", name))

        return scenario

    for table in TABLES:
        for name in table:
            monkeypatch.setitem(table, name, replaced(name))
    monkeypatch.setattr(e2e, "killed_operator", replaced(e2e.OPERATOR))
    return found


def test_every_scenario_runs_once_and_those_that_disturb_others_run_alone(log: Log) -> None:
    e2e.run_round(Checks(), NoWorld(), e2e.DEFAULT, random.Random(0))

    assert sorted(name for what, name in log if what == "starts") == sorted(e2e.DEFAULT)
    for name in (*e2e.ALONE, *e2e.CLUSTER):
        begin = log.index(("starts", name))
        assert log[begin + 1] == ("ends", name)
        assert not {each for what, each in log[:begin] if what == "starts"} - {
            each for what, each in log[:begin] if what == "ends"
        }


def test_what_waits_begins_when_the_operator_is_left_alone(log: Log) -> None:
    e2e.run_round(Checks(), NoWorld(), e2e.DEFAULT, None)

    alone = log.index(("ends", e2e.OPERATOR))
    assert all(log.index(("starts", name)) > alone for name in e2e.WAITING)


def test_named_scenarios_run_without_the_others(log: Log) -> None:
    e2e.run_round(Checks(), NoWorld(), ["policy", "lost-inference"], None)

    assert [name for what, name in log if what == "starts"] == ["policy", "lost-inference"]
