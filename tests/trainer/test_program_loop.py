"""A program with a custom loop, without any framework: killed, ended by SIGTERM, evaluated, and with mistakes."""

import json
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from qtj_trainer.stored.artifacts import arrays_from_bytes
from tests.trainer.loops import LOOP, Folder, steps_in
from tools.background import free_ports, tf_configs

SPOILT = """if (epoch.number, step) == (2, 3):
            import os, time
            state.w *= np.inf
            os.kill(os.getpid(), 15)
            while not program._session.replica.stop.is_requested():
                time.sleep(0.01)"""


def test_a_loop_stores_weights_by_name_progress_and_a_termination_message(job: Folder) -> None:
    log = job.path / "progress.jsonl"
    ended = job.run(QTJ_PROGRESS_LOG=str(log))
    again = job.run("sys.exit(9)", QTJ_PROGRESS_LOG=str(log))
    [weights] = job.path.glob("artifacts/weights/*.npz")
    arrays = arrays_from_bytes(weights.read_bytes())

    assert ended.code == 0, ended.errors
    assert arrays["array"].mean() == ended.metrics["mean"]
    assert ended.message
    assert ended.message.progress
    progress = ended.message.progress
    assert (progress.epoch, progress.step, progress.steps, progress.checkpoint_step) == (6, 60, 60, 60)
    assert progress.training_accuracy
    assert [json.loads(line)["epoch"] for line in log.read_text().splitlines()] == [1, 2, 3, 4, 5, 6]
    assert len(job.stored("checkpoints/uid-1.finished/*")) == len(job.stored("checkpoints/*/*")) == 1
    assert (again.code, again.message) == (0, ended.message)
    assert again.errors == f"this job has finished already: its weights are {ended.weights.uri}\n"


def test_a_loop_killed_between_checkpoints_has_the_same_digits_at_the_end(job: Folder, other: Folder) -> None:
    killed = job.run("if (epoch.number, step) == (4, 5): import os; os.kill(os.getpid(), 9)")
    [*_, newest] = job.path.glob("artifacts/checkpoints/uid-1/00000003*")
    resumed, whole = job.run(), other.run()

    assert killed.code == -9
    assert f"resumed after epoch 3 from {newest.as_uri()}" in resumed.errors.splitlines()
    assert resumed.output.split() == ["Epoch", "4", "Epoch", "5", "Epoch", "6"]
    assert resumed.weights.sha256 == whole.weights.sha256
    assert resumed.metrics == whole.metrics


def test_checkpoints_by_step_save_the_steps_of_the_epoch_under_way(job: Folder, other: Folder) -> None:
    by_step = LOOP.replace("epochs=6", "epochs=6, checkpoint_steps=3")
    job.run("if (epoch.number, step) == (4, 7): import os; os.kill(os.getpid(), 9)", by_step)
    stored = steps_in(job.stored("checkpoints/uid-1/*"))
    resumed = job.run("print(step, end=' ')", by_step, QTJ_PROGRESS_LOG=str(job.path / "log"))
    whole = other.run(QTJ_PROGRESS_LOG=str(other.path / "log"))

    assert stored == [33, 36]
    assert resumed.output.startswith("6 7 8 9 Epoch 4")
    assert resumed.weights.sha256 == whole.weights.sha256
    assert job.losses() == other.losses()[3:], "the loss of epoch 4 is the mean over all of its steps"


def test_a_loop_told_to_end_stores_its_step_and_repeats_nothing(job: Folder, other: Folder) -> None:
    slow = "print(step, end=' ', flush=True); import time; time.sleep(0.2)"
    process = job.start(slow)
    process.wait_for("Epoch 1\n0 1 2 3")
    process.popen.terminate()
    stopped = process.end()
    done = [int(number) for number in stopped.output.partition("Epoch 1\n")[2].split()]
    resumed, whole = job.run("print(step, end=' ')"), other.run()

    assert stopped.code == 143, stopped.errors
    assert f"the training was asked to end, after step {11 + done[-1]}" in stopped.error
    assert resumed.output.startswith(f"{done[-1] + 1} ")
    assert resumed.weights.sha256 == whole.weights.sha256


def test_sigterm_stores_no_weights_that_are_not_finite(job: Folder) -> None:
    ended = job.run(SPOILT)

    assert (ended.code, steps_in(job.stored("checkpoints/uid-1/*"))) == (143, [10]), ended.errors
    assert "was asked to end, after step 14" in ended.error


def test_inference_gets_exactly_the_stored_arrays(job: Folder) -> None:
    trained = job.run()
    inference = {"QTJ_WEIGHTS_URI": trained.weights.uri, "QTJ_WEIGHTS_SHA256": trained.weights.sha256}
    inferred = job.run(**inference)
    not_finite = job.run("pass", LOOP.replace('report({"mean": ', 'report({"worst": np.nan, "mean": '), **inference)
    unwritable = f"{job.path}/program.py/below"
    unchecked = job.run(QTJ_WEIGHTS_URI=trained.weights.uri, QTJ_ARTIFACTS_URI=unwritable)
    no_checksum = job.run(**inference | {"QTJ_WEIGHTS_SHA256": ""})
    other_shape = job.run("pass", LOOP.replace("np.zeros(3)", "np.zeros(4)"), **inference)
    unaware = job.run("pass", LOOP.replace("program.inferring", "False"), **inference)

    assert inferred.code == 0, inferred.errors
    assert inferred.metrics == trained.metrics
    assert (other_shape.code, len(other_shape.sentences)) == (1, 1), other_shape.errors
    assert "do not fit this program: array is float64 (3,) there and float64 (4,) here" in other_shape.error
    assert (unaware.code, "does not evaluate the stored weights" in unaware.error) == (1, True)
    assert not_finite.error.startswith("the metric worst is nan, which is not a result")
    assert (not_finite.code, not_finite.metrics) == (1, {})
    assert (unchecked.code, unchecked.metrics) == (0, trained.metrics)
    assert no_checksum.code == 1, "only a variable that is not there leaves the check out"

    weights = Path(trained.weights.uri.removeprefix("file://"))
    weights.write_bytes(weights.read_bytes() + b"!")
    spoilt = job.run(**inference)
    assert (spoilt.code, len(spoilt.sentences), "was changed since" in spoilt.error) == (1, 1, True)


def test_a_changed_model_passes_over_the_checkpoints_of_the_other(job: Folder) -> None:
    job.run("if (epoch.number, step) == (4, 5): import os; os.kill(os.getpid(), 9)")

    ended = job.run("pass", LOOP.replace("np.zeros(3)", "np.zeros(4)").replace("size=3", "size=4"))

    assert ended.code == 0, ended.errors
    assert ended.output.startswith("Epoch 1\n")
    assert "is of another training" in ended.errors


def test_a_loop_that_diverges_fails_and_stores_nothing_of_it(job: Folder) -> None:
    ended = job.run("state.w *= np.inf if step == 9 else 1")

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert "training diverged, a weight of w was inf after step 10" in ended.error
    assert job.stored("checkpoints/*/*") == job.stored("weights/*") == []


def test_an_epoch_without_counted_steps_is_progress(job: Folder, other: Folder) -> None:
    source = LOOP.replace("epoch.steps(10)", "range(10)").replace("epoch.step(loss=", "float(")
    killed = job.run("if (epoch.number, step) == (4, 5): import os; os.kill(os.getpid(), 9)", source)
    resumed, whole = job.run("pass", source), other.run("pass", source)

    assert killed.code == -9
    assert resumed.weights.sha256 == whole.weights.sha256
    assert resumed.message
    assert resumed.message.progress
    progress = resumed.message.progress
    assert (progress.epoch, progress.step, progress.steps, progress.checkpoint_step) == (6, None, None, 6)


def test_steps_that_are_only_counted_are_told_and_make_no_checkpoints_within_an_epoch(job: Folder) -> None:
    source = LOOP.replace("epoch.steps(10)", "range(10)").replace("epochs=6", "epochs=6, checkpoint_steps=3")
    ended = job.run("if (epoch.number, step) == (4, 7): import os; os.kill(os.getpid(), 9)", source)

    assert ended.code == -9
    assert steps_in(job.stored("checkpoints/uid-1/*")) == [20, 30]


def test_all_workers_continue_from_the_checkpoint_that_the_leader_names(job: Folder) -> None:
    job.run("if (epoch.number, step) == (4, 5): import os; os.kill(os.getpid(), 9)")
    (job.path / "artifacts").rename(job.path / "shared")
    environment = {"QTJ_ARTIFACTS_URI": str(job.path / "shared")}

    workers = [job.start(TF_CONFIG=each, **environment) for each in tf_configs(worker=2).values()]
    leader, follower = [each.end() for each in workers]

    assert (leader.code, follower.code) == (0, 0), leader.errors + follower.errors
    assert leader.output == follower.output
    assert leader.output.startswith("Epoch 4\n")
    assert follower.message is None


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("losses=[]", "losses=set()", "losses has the type set, which cannot be stored"),
        ("    print(f", "    epoch.report()\n    print(f", "epoch.report() was called twice in epoch 1"),
        ('{"mean": state.w.mean()})\n', '{"mean": "good"})\n', "the metric 'mean' is 'good', which is not a number"),
    ],
)
def test_a_mistake_in_a_loop_is_one_sentence(job: Folder, right: str, wrong: str, sentence: str) -> None:
    assert right in LOOP

    ended = job.run("pass", LOOP.replace(right, wrong))

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert sentence in ended.error


def test_an_error_of_a_loops_own_keeps_its_traceback_and_costs_no_import(job: Folder) -> None:
    ended = job.run("raise ValueError('mine')")

    assert ended.code == 1
    assert "ValueError: mine" in ended.errors
    assert ended.cpu_seconds < 5, "TensorFlow was imported"


def test_progress_is_served_while_a_loop_runs(job: Folder) -> None:
    [port] = free_ports(1)
    process = job.start("import time; print(step, flush=True); time.sleep(0.3)", QTJ_METRICS_PORT=str(port))
    process.wait_for("Epoch 1\n0\n1\n2")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/progress", timeout=10) as answer:
        progress = json.loads(answer.read())
    process.kill()

    assert (progress["epoch"], progress["epochs"], progress["steps"], progress["checkpointStep"]) == (1, 6, 60, 10)
    assert progress["step"] >= 12
    assert np.isfinite(progress["loss"])
