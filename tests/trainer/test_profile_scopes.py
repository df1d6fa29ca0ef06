"""What a profile of a training shows: named parts of each step."""

import pytest

from tests.trainer.processes import Trainer
from tests.trainer.test_profiles import names_in

PROGRAM = """
import sys
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.strategy import start_tensorflow

strategy, _ = start_tensorflow(Cluster.alone(), devices=2)  # with one there is no exchange

import tensorflow as tf
from qtj_trainer.stored.position import Position
from qtj_trainer.loop.synchronous import Synchronous
from qtj_trainer.loop.task import Task
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

options, workload = QcnnOptions(qubits=4, rounds=4, epochs=2, batch_size=8), Qcnn()
loop = Synchronous(Task.of(workload, options), strategy)
positions = loop.positions(Position(), lambda _: False)
next(positions)  # compiles
tf.profiler.experimental.start(sys.argv[1])
for _ in positions:
    pass
tf.profiler.experimental.stop()
"""


@pytest.fixture(scope="module")
def names(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all events in a profile of two epochs."""
    folder = tmp_path_factory.mktemp("profile")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    ended = trainer.start_program(program, str(folder)).end()
    assert ended.code == 0, ended.errors
    [file] = folder.glob("plugins/profile/*/*.xplane.pb")
    return names_in(file)


@pytest.mark.parametrize("scope", ["data", "engine", "exchange", "optimizer"])
def test_a_profile_names_the_parts_of_a_step(names: set[str], scope: str) -> None:
    assert [name for name in names if f"{scope}/" in name]


def test_a_profile_names_each_step(names: set[str]) -> None:
    assert "train" in names
