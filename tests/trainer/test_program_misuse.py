"""Mistakes that a user's program can make with `Program`: each is one sentence, and no number is wrong."""

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

import qtj_contract as contract
from qtj_trainer.errors import UserError
from tests.trainer.processes import Ended, Trainer
from tests.trainer.test_program import KERAS_3, run

LOOP = """
from qtj_trainer import Program

program = Program(epochs=3)

import numpy as np

state = program.state(w=np.zeros(2))
for epoch in program.epochs():
    for step in epoch.steps(10):
        state.w += 1
        epoch.step(loss=1.0)
    epoch.report(fidelity=0.5)
program.finish(state.w, {"mean": state.w.mean()})
"""


FIT = "model.fit(x, y, epochs=3, initial_epoch=first, callbacks=[program.callback()], verbose=2)"


def replaced(right: str, wrong: str, source: str = LOOP) -> str:
    assert right in source
    return source.replace(right, wrong)


def progress(ended: Ended) -> contract.Progress:
    assert ended.message, ended.errors
    assert ended.message.progress
    return ended.message.progress


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("state = program.state(", "state = dict(", "epochs() was called before state(...): give state(...) all that"),
        ("for epoch", "program.state(w=1)\nfor epoch", "state() can be called once, and not after restore(model)"),
        (
            "for epoch",
            "program.restore(state.w)\nfor epoch",
            "restore(model) can be called once, and not after state(): give one of them all of it",
        ),
        ("for epoch", "program.callback()\nfor epoch", "callback() was called before restore(model): call restore("),
        ("for epoch", "program.load(state.w)\nfor epoch", "load() is for inference, and this is a training: check"),
        ("for epoch", "program.report({})\nfor epoch", "report() is for inference, and this is a training: end it"),
        ("epochs=3", "epochs=True", "Program's argument epochs is True: it must be a whole number"),
        ("epochs=3", "epochs=3, checkpoint_steps=-1", "Program's argument checkpoint_steps is -1: it must be at least"),
        (
            "program.finish",
            "for epoch in program.epochs():\n    state.w += 1\nprogram.finish",
            "epochs() was called twice: a program has one loop over its epochs",
        ),
    ],
)
def test_a_misuse_of_a_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, sentence: str
) -> None:
    """In this process, which is not the program's, so the mistake is raised."""
    monkeypatch.setenv("QTJ_ARTIFACTS_URI", str(tmp_path))
    monkeypatch.setattr("qtj_trainer.program.session.show_log", lambda **_: None)
    monkeypatch.setattr("qtj_trainer.program.program_training.atexit", Mock())

    with pytest.raises(UserError, match=f"^{re.escape(sentence)}"):
        exec(replaced(right, wrong), {"__name__": "training"})
    assert not list(tmp_path.glob("weights/*"))


@pytest.mark.parametrize(
    ("fits", "sentence"),
    [
        ([FIT.replace("epochs=3", "epochs=5")], "fit(epochs=5) has more epochs than Program(epochs=3)"),
        ([FIT, FIT], "fit starts epoch 1 after epoch 3: give it initial_epoch=3"),
    ],
    ids=["more epochs", "twice"],
)
def test_a_fit_that_disagrees_with_its_program_is_refused(
    trainer: Trainer, tmp_path: Path, fits: list[str], sentence: str
) -> None:
    ended = run(trainer, tmp_path, replaced(FIT, "\n".join(fits), KERAS_3))

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error.startswith(sentence)


def test_a_second_fit_that_continues_after_the_first_trains_the_rest(trainer: Trainer, tmp_path: Path) -> None:
    parts = [FIT.replace("epochs=3", "epochs=2"), FIT.replace("=first", "=max(first, 2)")]

    ended = run(trainer, tmp_path, replaced(FIT, "\n".join(parts), KERAS_3))

    assert ended.code == 0, ended.errors
    assert (progress(ended).epoch, progress(ended).step, progress(ended).steps) == (3, 6, 6)


def test_a_forgotten_callback_is_warned_of(trainer: Trainer, tmp_path: Path) -> None:
    ended = run(trainer, tmp_path, replaced("callbacks=[program.callback()], ", "", KERAS_3))

    assert ended.code == 0, ended.errors
    assert "no epoch was reported: give fit callbacks=[program.callback()]" in ended.errors


NOT_FINISHED = "the training is done, and program.finish(...) was never called"


def test_every_score_is_in_the_log(trainer: Trainer, tmp_path: Path) -> None:
    ended = run(trainer, tmp_path, LOOP)

    assert ended.code == 0, ended.errors
    assert ended.errors.splitlines() == [f"epoch {each}/3  loss 1.0000  fidelity 0.5000" for each in (1, 2, 3)]


def test_only_the_leader_logs_epochs(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(LOOP)

    workers = [each.end() for each in trainer.start_programs(2, program, QTJ_ARTIFACTS_URI=str(tmp_path / "artifacts"))]

    assert [(each.code, each.errors.count("fidelity")) for each in workers] == [(0, 3), (0, 0)]


def test_a_loop_that_never_finishes_is_warned_that_it_has_no_weights(trainer: Trainer, tmp_path: Path) -> None:
    forgotten = replaced('program.finish(state.w, {"mean": state.w.mean()})', "")
    ended = run(trainer, tmp_path, forgotten)
    trained_before = run(trainer, tmp_path, forgotten)

    assert (ended.code, trained_before.code) == (0, 0)
    assert NOT_FINISHED in ended.errors
    assert NOT_FINISHED in trained_before.errors


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("pass", "pass", 0),
        ("    epoch.report", "    sys.exit(75)\n    epoch.report", 75),
        ("program.finish", "raise ValueError\nprogram.finish", 1),
        ("program.finish", "os.kill(os.getpid(), 15)\ntime.sleep(60)\nprogram.finish", 143),
    ],
    ids=["finished", "asks for a retry", "an error", "SIGTERM"],
)
def test_a_program_that_ends_otherwise_is_not_warned(
    trainer: Trainer, tmp_path: Path, right: str, wrong: str, code: int
) -> None:
    ended = run(trainer, tmp_path, replaced(right, wrong, f"import os, sys, time\nif False: pass\n{LOOP}"))

    assert ended.code == code, ended.errors
    assert NOT_FINISHED not in ended.errors


def test_an_inference_that_forgets_to_report_is_no_training_that_forgets_to_finish(
    trainer: Trainer, tmp_path: Path
) -> None:
    evaluates = LOOP.partition("for epoch")[0] + "program.load(state.w)\n"

    trained = run(trainer, tmp_path, LOOP)
    ended = run(trainer, tmp_path, evaluates, QTJ_WEIGHTS_URI=trained.weights.uri)

    assert (ended.code, NOT_FINISHED in ended.errors) == (0, False), ended.errors


def test_a_traceback_of_a_program_starts_with_its_own_line(trainer: Trainer, tmp_path: Path) -> None:
    ended = run(trainer.alone, tmp_path, replaced("state.w += 1", "raise ValueError('mine')"))

    assert ended.code == 1
    assert "ValueError: mine" in ended.errors
    assert "program.py" in ended.errors.splitlines()[1]
    assert "session.py" not in ended.errors


BUFFERED = """
import io, sys
hook = sys.excepthook

def show(*error):
    errors, sys.stderr = sys.stderr, io.StringIO()
    hook(*error)
    errors.write(sys.stderr.getvalue())

sys.excepthook = show
"""


def test_a_traceback_is_shown_by_a_library_that_collects_it_first(trainer: Trainer, tmp_path: Path) -> None:
    """As torch.distributed.init_process_group does, to write the rank before each line."""
    program = replaced("state.w += 1", "raise ValueError('mine')").replace(
        "for epoch in", f"{BUFFERED}\nfor epoch in", 1
    )

    ended = run(trainer, tmp_path, program)

    assert ended.code == 1
    assert "ValueError: mine" in ended.errors
