"""GPUs, as far as a machine without one can tell."""

from pathlib import Path

from tests.trainer.processes import Trainer

PROGRAM = """
import tensorflow as tf

grown = []
tf.config.list_physical_devices = lambda kind=None: ["first", "second"] if kind == "GPU" else []
tf.config.experimental.set_memory_growth = lambda gpu, is_on: grown.append((gpu, is_on))

from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.strategy import start_tensorflow

start_tensorflow(Cluster.alone(), devices=1)
print(grown)
"""


def test_no_process_takes_the_whole_memory_of_a_gpu(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "two_gpus.py"
    program.write_text(PROGRAM)

    ended = trainer.start_program(program).end()

    assert ended.code == 0, ended.errors
    assert ended.output == "[('first', True), ('second', True)]\n"
