"""A gang of real processes under `qtj run`, of which one sleeps in each step."""

import json
from typing import Any

import pytest

from qtj.local.folder import EVENTS
from tests.local.laptop import Laptop
from tests.trainer.sleeping_worker import sleeping_program
from tools.background import wait_until


def events(laptop: Laptop) -> list[str]:
    lines = (laptop.artifacts("slow") / EVENTS).read_text().splitlines()
    return [found["message"] for line in lines if (found := json.loads(line))["reason"] == "Straggler"]


def steps(laptop: Laptop) -> dict[str, Any]:
    found: dict[str, Any] = laptop.record("slow")["status"].get("steps") or {}
    return found


@pytest.mark.slow
def test_the_worker_that_sleeps_is_named(laptop: Laptop) -> None:
    (laptop.folder / "slow.py").write_text(sleeping_program(epochs=1000, seconds=0.4))
    running = laptop.start("run", "slow.py", "--workers", "2")
    wait_until((laptop.artifacts("slow") / "job.json").exists)

    wait_until(lambda: steps(laptop).get("stragglers"), seconds=400)
    found = steps(laptop)
    [straggler] = found["stragglers"]
    wait_until(lambda: events(laptop))
    status = laptop.qtj("status", "slow").output
    running.stop()

    assert straggler["replica"] == "worker-1"
    assert straggler["ownSeconds"] > 0.4 > 2 * straggler["peerSeconds"]
    assert found["seconds"] > 0.4
    assert [message.startswith("worker-1 on node ") for message in events(laptop)] == [True]
    assert "replicas are ready; worker-1 on node" in status
    assert "OWN STEP" in status
