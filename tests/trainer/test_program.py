"""A user's Keras program, with the helper and without."""

from pathlib import Path

import pytest

import qtj_contract as contract
from tests.trainer.processes import REPOSITORY, Ended, Process, Trainer

EXAMPLE = REPOSITORY / "examples" / "own_program.py"
CIRCUIT = REPOSITORY / "examples" / "own_circuit.py"


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """The example with more epochs than a test waits for."""
    program = tmp_path / "slow.py"
    program.write_text(EXAMPLE.read_text().replace("EPOCHS = 5", "EPOCHS = 60"))
    return program


def start(trainer: Trainer, program: Path, artifacts: Path) -> Process:
    return trainer.start_program(program, QTJ_ARTIFACTS_URI=str(artifacts), QTJ_JOB_UID="uid-1")


def epochs_in(output: str) -> list[int]:
    return [int(line.split()[1].partition("/")[0]) for line in output.splitlines() if line.startswith("Epoch")]


def all_steps_reported(ended: Ended) -> bool:
    assert ended.message
    assert ended.message.progress
    return ended.message.progress.step == ended.message.progress.steps


def test_two_workers_store_weights_and_a_termination_message(trainer: Trainer, tmp_path: Path) -> None:
    environment = {"QTJ_ARTIFACTS_URI": str(tmp_path), "QTJ_JOB_UID": "uid-1"}
    leader, follower = [process.end() for process in trainer.start_programs(2, EXAMPLE, **environment)]
    again = start(trainer.alone, EXAMPLE, tmp_path).end()

    assert (leader.code, follower.code, again.code) == (0, 0, 0), leader.errors + follower.errors
    assert epochs_in(leader.output) == [1, 2, 3, 4, 5]
    assert leader.metrics["mse"] < 0.1
    assert all_steps_reported(leader)
    assert Path(leader.weights.uri.removeprefix("file://")).exists()
    assert not list(tmp_path.glob("checkpoints/**/*.npz"))
    assert follower.message is None
    assert again.message == leader.message
    assert epochs_in(again.output) == []
    assert again.cpu_seconds < 5


def test_two_workers_train_their_own_circuit_and_inference_evaluates_its_weights(
    trainer: Trainer, tmp_path: Path
) -> None:
    environment = {"QTJ_ARTIFACTS_URI": str(tmp_path), "QTJ_JOB_UID": "uid-1"}
    circuit = tmp_path / "circuit.py"
    circuit.write_text(CIRCUIT.read_text().replace("EPOCHS = 15", "EPOCHS = 6"))  # as well, in less time
    leader, follower = [process.end() for process in trainer.start_programs(2, circuit, **environment)]
    evaluated = {"QTJ_WEIGHTS_URI": leader.weights.uri, "QTJ_WEIGHTS_SHA256": leader.weights.sha256}
    inferred = trainer.start_program(circuit, **environment, **evaluated).end()

    assert (leader.code, follower.code, inferred.code) == (0, 0, 0), leader.errors + follower.errors + inferred.errors
    assert leader.metrics["accuracy"] > 0.9
    assert inferred.metrics == pytest.approx(leader.metrics, abs=1e-5)
    assert "48 gates fused into" in leader.output
    files = {path.name.split(".", 1)[1] for path in tmp_path.glob("weights/*.*.*")}
    assert {name.removeprefix("pqc.") for name in files} == {"inference.json", "cirq.json", "qasm"}


def test_a_program_whose_peer_dies_asks_for_another_run(trainer: Trainer, slow: Path, tmp_path: Path) -> None:
    environment = {"QTJ_ARTIFACTS_URI": str(tmp_path / "a"), "QTJ_JOB_UID": "uid-1"}
    survivor, victim = trainer.start_programs(2, slow, **environment)
    survivor.wait_for("Epoch 3/60")

    victim.kill()

    ended = survivor.end()
    assert ended.code == contract.EXIT_RETRY
    assert "lost another worker" in ended.error


def test_a_mistake_in_a_program_keeps_its_traceback(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("from qtj_trainer import Program\n\nprogram = Program(epochs=1)\nraise ValueError('mine')\n")

    ended = start(trainer, program, tmp_path / "a").end()

    assert ended.code == 1
    assert "ValueError: mine" in ended.errors


def test_a_program_told_to_end_ends_at_once(trainer: Trainer, slow: Path, tmp_path: Path) -> None:
    process = start(trainer, slow, tmp_path / "a")
    process.wait_for("Epoch 3/60")

    process.popen.terminate()

    assert process.end().code == 143


KERAS_3 = """
from qtj_trainer import Program

program = Program(epochs=3)

import keras

keras.utils.set_random_seed(0)
x = keras.random.normal((64, 3), seed=0)
y = keras.ops.matmul(x, keras.ops.convert_to_tensor([[1.0], [-2.0], [0.5]]))
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
if program.inferring:
    program.load(model)
    program.report({"mse": model.evaluate(x, y, verbose=0)})
first = program.restore(model)
model.fit(x, y, epochs=3, initial_epoch=first, callbacks=[program.callback()], verbose=2)
program.finish(model, {"mse": model.evaluate(x, y, verbose=0)})
"""


def run(trainer: Trainer, folder: Path, source: str, **environment: str) -> Ended:
    program = folder / "program.py"
    program.write_text(source)
    environment = {"QTJ_ARTIFACTS_URI": str(folder / "artifacts"), "QTJ_JOB_UID": "uid-1"} | environment
    return trainer.start_program(program, **environment).end()


def inference_of(trained: Ended) -> dict[str, str]:
    return {"QTJ_WEIGHTS_URI": trained.weights.uri, "QTJ_WEIGHTS_SHA256": trained.weights.sha256}


@pytest.fixture(scope="module", params=[EXAMPLE.read_text(), KERAS_3], ids=["keras 2", "keras 3"])
def trained(
    request: pytest.FixtureRequest, trainer: Trainer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Ended]:
    """A program, and its training without an interruption."""
    ended = run(trainer, tmp_path_factory.mktemp("whole"), request.param)
    assert ended.code == 0, ended.errors
    return request.param, ended


def test_inference_evaluates_the_stored_weights(trainer: Trainer, tmp_path: Path, trained: tuple[str, Ended]) -> None:
    source, whole = trained

    evaluated = run(trainer, tmp_path, source, **inference_of(whole))

    assert evaluated.code == 0, evaluated.errors
    assert all_steps_reported(whole)
    assert epochs_in(evaluated.output) == []
    assert evaluated.metrics == pytest.approx(whole.metrics)
    assert evaluated.message is not None
    assert evaluated.message.weights is None


def test_a_killed_program_continues_after_its_last_epoch(
    trainer: Trainer, tmp_path: Path, trained: tuple[str, Ended]
) -> None:
    source, whole = trained
    fit = source[source.index("model.fit(") : source.index("program.finish(model")]
    kills = f"import os\nkill = lambda epoch, logs: epoch == 2 and os.kill(os.getpid(), 9)\n{fit}".replace(
        "callbacks=[", "callbacks=[(keras if 'keras' in globals() else tf.keras).callbacks.LambdaCallback(kill), "
    )

    killed = run(trainer, tmp_path, source.replace(fit, kills))
    resumed = run(trainer, tmp_path, source)

    assert killed.code == -9, killed.errors
    assert epochs_in(resumed.output) == epochs_in(whole.output)[2:]
    rough = 0.1 if source == KERAS_3 else 0  # for the order of its examples, which is drawn anew
    assert resumed.metrics["mse"] == pytest.approx(whole.metrics["mse"], rel=rough, abs=1e-4)


def test_a_program_that_does_not_evaluate_is_refused_before_it_trains(trainer: Trainer, tmp_path: Path) -> None:
    unaware = EXAMPLE.read_text().replace("program.inferring", "False")

    ended = run(trainer, tmp_path, unaware, QTJ_WEIGHTS_URI="file:///weights.h5", QTJ_WEIGHTS_SHA256="00")

    assert (ended.code, len(ended.sentences)) == (1, 1)
    assert "this program does not evaluate the stored weights" in ended.error
    assert epochs_in(ended.output) == []


def test_a_mistake_with_the_helper_is_one_sentence(trainer: Trainer, tmp_path: Path) -> None:
    ended = run(trainer, tmp_path, KERAS_3.replace('model.compile("adam", loss="mse")', ""))

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert "the model has no optimizer" in ended.error


def test_a_keras_3_model_on_several_workers_is_refused_before_it_trains(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KERAS_3)
    workers = trainer.start_programs(2, program, QTJ_ARTIFACTS_URI=str(tmp_path / "artifacts"))

    ended = [each.end() for each in workers]

    assert [(each.code, epochs_in(each.output)) for each in ended] == [(1, [])] * 2
    assert all("a Keras 3 model trains in one process on one device" in each.error for each in ended)


@pytest.mark.parametrize(
    "alone", ["first = program.restore(model)\n", pytest.param("first = 0\n", marks=pytest.mark.slow)]
)
def test_a_keras_3_model_on_jax_is_refused_in_one_sentence(trainer: Trainer, tmp_path: Path, alone: str) -> None:
    source = KERAS_3.replace("first = program.restore(model)\n", alone)
    ended = run(
        trainer,
        tmp_path,
        source.replace("epochs=3, init", "epochs=1, init").replace("callbacks=[program.callback()], ", ""),
        KERAS_BACKEND="jax",
    )

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error.startswith("this Keras 3 does not run on TensorFlow: set KERAS_BACKEND to tensorflow")


def test_metrics_may_be_missing(trainer: Trainer, tmp_path: Path) -> None:
    none = run(trainer, tmp_path, KERAS_3.replace("finish(model, {", "finish(model) if True else ({"))

    assert none.code == 0, none.errors
    assert none.metrics == {}
