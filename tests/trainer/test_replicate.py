"""The researcher's interface: the example programs, unchanged on one device, on several, and by several workers."""

import re
from pathlib import Path

import pytest

import qtj_contract as contract
from tests.trainer.processes import REPOSITORY, Ended, Trainer

LINE = REPOSITORY / "examples" / "replicator.py"
NORMALISED = REPOSITORY / "examples" / "global_batch_norm.py"

ENDLESS = """
from qtj_trainer.replicate import Replicator, all_reduce

replicator = Replicator()

import tensorflow as tf

with replicator:
    data = lambda context: tf.data.Dataset.from_tensors(1.0).repeat()
    for step, total in enumerate(replicator.run(all_reduce, data, 10_000_000)):
        if step == 10:
            print("running", flush=True)
"""


def steps_of(ended: Ended) -> list[tuple[float, ...]]:
    """Step, loss and slope of each line."""
    assert ended.code == 0, ended.errors
    found = re.findall(r"step +(\d+)  loss (\S+)  slope (\S+)", ended.output)
    return [tuple(map(float, each)) for each in found]


def test_the_example_is_as_short_as_promised() -> None:
    assert len(LINE.read_text().splitlines()) < 60


def test_one_device_two_devices_and_two_workers_learn_the_same(trainer: Trainer) -> None:
    one = trainer.start_program(LINE).end()
    two = trainer.start_program(LINE, QTJ_DEVICES="2").end()
    workers = [process.end() for process in trainer.start_programs(2, LINE)]

    assert [ended.output.count("replicas 2") for ended in (one, two, *workers)] == [0, 5, 5, 5]
    assert steps_of(one)[-1] == pytest.approx((100, 0, 3), abs=1e-3)
    for other in (two, *workers):
        assert steps_of(other) == [pytest.approx(step, abs=1e-4) for step in steps_of(one)]


def test_batches_are_normalised_over_all_replicas(trainer: Trainer) -> None:
    sums = [trainer.start_program(NORMALISED, QTJ_DEVICES=devices).end().output for devices in ("1", "2")]

    assert sums == ["squares sum to 8.0000 8.0000 replicas 1\n", "squares sum to 8.0000 8.0000 replicas 2\n"]


def test_a_replicator_whose_peer_dies_asks_for_another_run(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text(ENDLESS)
    survivor, victim = trainer.start_programs(2, program)
    survivor.wait_for("running")

    victim.kill()

    ended = survivor.end()
    assert ended.code == contract.EXIT_RETRY
    assert len(ended.sentences) == 1
    assert "lost another worker" in ended.sentences[0]
