"""The start of a training, in a fresh process: until the first step, it loads only what that step needs."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.trainer.processes import Trainer
from tools.background import free_port

UNTIL_THE_FIRST_STEP = """
import sys
from qtj_trainer.replica.signals import Stop, exit_now
from qtj_trainer.replica.training import Training

def show(training, position):
    print(position.step, *sys.modules, sep="\\n", flush=True)
    exit_now(0)

Training.show = show

from qtj_trainer.run.cli import main

main(Stop())
"""

NOT_NEEDED = {
    "TensorFlow Quantum, which is another engine": "tensorflow_quantum",
    "the client of a bucket, which is not used": "google.cloud.storage",
    "TensorBoard, for which nothing is drawn yet": "tensorboard",
    "the picture of the circuit, likewise": "qtj_trainer.tensorboard.circuit_picture",
    "SymPy's tensors, which the circuit as text and, by chance, its plan have loaded": "sympy.tensor.tensor",
    "functions that AutoGraph has rewritten": "__autograph_generated_file",
    "the report, which is written at the end": "qtj_report",
}


_SEED = "0"
"""SymPy asks its questions in the order of hashes: with this seed, one about a circuit loaded its tensors."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules of a process that has just taken its first step."""
    folder = tmp_path_factory.mktemp("start")
    program = folder / "until_the_first_step.py"
    program.write_text(UNTIL_THE_FIRST_STEP)
    with ExitStack() as cleanup:
        options = ("--qubits", "4", "--rounds", "4", "--epochs", "1", "--artifacts", str(folder / "artifacts"))
        ended = Trainer(folder, cleanup).start_program(program, "train", "qcnn", *options, PYTHONHASHSEED=_SEED).end()
    assert ended.code == 0, ended.errors
    *_, modules = ended.output.partition("\n1\n")
    return modules.splitlines()


@pytest.mark.parametrize("name", NOT_NEEDED.values(), ids=NOT_NEEDED)
def test_the_first_step_does_not_wait_for(loaded: list[str], name: str) -> None:
    assert "cirq" in loaded, "the step was not taken"
    assert [each for each in loaded if each.startswith(name)] == []


def test_a_trainer_that_starts_alone_corrects_the_tracer_before_it_loads_tensorflow(
    trainer: Trainer, tmp_path: Path
) -> None:
    """Forked ones get it from the process that they are forked from, so only a start of its own shows this."""
    ended = trainer.alone.run(
        "train", "qcnn", "--qubits=4", "--epochs=1", "--artifacts", str(tmp_path), QTJ_PROFILER_PORT=str(free_port())
    )

    assert ended.code == 0, ended.errors
    assert "serves no profiles" not in ended.output + ended.errors
