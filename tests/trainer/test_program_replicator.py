"""A replicator's own loop as a program of a job: checkpoints, weights and inference on all of its replicas."""

from pathlib import Path

import pytest

from tests.trainer.processes import Ended, Trainer
from tools.background import tf_configs

LINE = """
from qtj_trainer import Program
from qtj_trainer.replicate import Input, Replicator

program = Program(epochs=4)
replicator = Replicator()

import os

import tensorflow as tf
import tf_keras

with replicator, replicator.scope():
    slope, constant = tf.Variable(0.0), tf.Variable(0.0)
    optimizer = replicator.wrap_optimizer(tf_keras.optimizers.Adam(0.1))
    optimizer.build([slope, constant])
    if program.inferring:
        program.load([slope, constant])
        program.report({"slope": slope, "constant": constant})
    state = program.state(slope=slope, constant=constant, optimizer=optimizer)

    def step_fn(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((slope * x + constant - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [slope, constant]), [slope, constant]))
        return loss

    for epoch in program.epochs():

        def input_fn(context: Input) -> tf.data.Dataset:
            def share(step):
                x = tf.random.stateless_normal([32], seed=[epoch.number, step])[context.replica :: context.replicas]
                return x, 3 * x + 1

            return tf.data.Dataset.range(10).map(share)

        for step, loss in enumerate(replicator.run(step_fn, input_fn, 10)):
            epoch.step(loss=loss)
            if (epoch.number, step) == (3, 5) and os.environ.get("KILLED"):
                os.kill(os.getpid(), 9)
        print(f"Epoch {epoch.number}", flush=True)
    program.finish([slope, constant], {"slope": slope, "constant": constant})
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "line.py"
    path.write_text(LINE)
    return path


def workers(trainer: Trainer, program: Path, artifacts: Path, **environment: str) -> list[Ended]:
    environment = {"QTJ_ARTIFACTS_URI": str(artifacts), "QTJ_JOB_UID": "uid-1"} | environment
    return [each.end() for each in trainer.start_programs(2, program, **environment)]


@pytest.mark.slow
def test_killed_workers_of_a_replicator_come_to_the_same_digits(
    trainer: Trainer, program: Path, tmp_path: Path
) -> None:
    killed = workers(trainer, program, tmp_path / "a", KILLED="1")
    leader, follower = workers(trainer, program, tmp_path / "a")
    whole, _ = workers(trainer, program, tmp_path / "b")
    inference = {"QTJ_WEIGHTS_URI": leader.weights.uri, "QTJ_WEIGHTS_SHA256": leader.weights.sha256}
    inferred = trainer.start_program(program, **inference).end()

    assert -9 in [each.code for each in killed]
    assert (leader.code, follower.code, inferred.code) == (0, 0, 0), leader.errors + follower.errors + inferred.errors
    assert leader.output == follower.output == "Epoch 3\nEpoch 4\n"
    assert leader.weights.sha256 == whole.weights.sha256
    assert inferred.metrics == leader.metrics
    assert follower.message is None
    assert leader.message
    assert leader.message.progress
    assert leader.message.progress.step == 40


@pytest.mark.slow
def test_workers_of_a_replicator_that_find_different_checkpoints_are_refused(
    trainer: Trainer, program: Path, tmp_path: Path
) -> None:
    workers(trainer, program, tmp_path / "a", KILLED="1")

    places = [{"QTJ_ARTIFACTS_URI": str(tmp_path / name), "QTJ_JOB_UID": "uid-1"} for name in ("a", "empty")]
    configs = tf_configs(worker=2).values()
    started = [
        trainer.start_program(program, TF_CONFIG=config, **place) for config, place in zip(configs, places, strict=True)
    ]
    ended = [each.end() for each in started]

    assert "the workers find different checkpoints" in ended[0].error + ended[1].error
