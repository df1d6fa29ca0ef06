"""The example that keeps the contract with the standard library alone."""

import os
import re
import signal

from tests.local.laptop import REPOSITORY, Laptop
from tools.background import wait_until


def test_a_killed_worker_costs_no_epoch_that_was_stored(laptop: Laptop) -> None:
    laptop.qtj("init", "loop", "--name", "toy", "--workers", "2", "--epochs", "1000")
    running = laptop.start("run", "toy.yaml", "-o", "json")
    wait_until(lambda: laptop.trains(epoch=5))

    os.kill(laptop.worker(1), signal.SIGKILL)
    ended = running.end()
    second = (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text()

    assert ended.code == 0, ended.errors
    assert (ended.status["attempt"], ended.status["restarts"]) == (2, 1)
    assert int(re.findall(r"epoch (\d+)/1000", second)[0]) > 5
    assert ended.status["inference"]["metrics"]["mse"] < 1e-6


def test_it_refuses_an_address_that_is_no_folder(laptop: Laptop) -> None:
    laptop.qtj("init", "loop", "--name", "toy")
    example = (REPOSITORY / "examples/own-loop.yaml").read_text()
    (laptop.folder / "toy.yaml").write_text(example.replace("examples/own_loop.py", "toy.py"))

    ended = laptop.qtj("run", "toy.yaml", "--artifacts", "gs://bucket/toy", "-o", "json")

    assert ended.code == 1
    assert "gs://bucket/toy is no file:/// address" in ended.errors
