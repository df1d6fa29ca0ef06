"""A Keras program of a user, whose `fit` is captured between two steps."""

import json
from pathlib import Path

from qtj_contract import CaptureRecord
from tests.trainer.processes import REPOSITORY, Trainer
from tests.trainer.test_captures import LOGS, steps_of

EXAMPLE = REPOSITORY / "examples" / "own_program.py"


def test_a_program_is_captured_between_its_steps(trainer: Trainer, tmp_path: Path) -> None:
    captures = json.dumps([{"step": 4, "steps": 2}, {"step": 1_000_000}])

    ended = trainer.start_program(
        EXAMPLE,
        QTJ_ARTIFACTS_URI=str(tmp_path),
        QTJ_JOB="qcnn",
        QTJ_JOB_UID="uid-1",
        QTJ_PROFILER_CAPTURES=captures,
    ).end()

    assert ended.code == 0, ended.errors
    assert ended.message is not None
    assert ended.message.progress is not None
    assert ended.message.progress.captures == (
        CaptureRecord("step-4", "Stored", f"{LOGS}/step-4"),
        CaptureRecord("step-1000000", "Failed", error="the training ended before it started"),
    )
    # Keras counts from 0, and ends the mark of the last step after the callback.
    assert steps_of(tmp_path / LOGS / "step-4" / "worker-0.xplane.pb") == [3]
