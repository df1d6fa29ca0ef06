"""A Keras program of a user, whose `fit` is captured between two steps: as planned, and on request."""

import json
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

from qtj_contract import PROFILE_PATH, Capture, CaptureRecord, request_body
from tests.trainer.processes import REPOSITORY, Trainer
from tests.trainer.test_captures import LOGS, steps_of
from tools.background import free_ports, wait_until

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


def test_a_program_is_captured_on_request(trainer: Trainer, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    asked = Capture(id="0123abcd", step=4, steps=2)
    request = Request(f"http://127.0.0.1:{port}{PROFILE_PATH}", request_body(asked).encode(), method="POST")

    def is_accepted() -> bool:
        with suppress(OSError), urlopen(request, timeout=30) as answer:  # it does not listen yet, or refuses
            return bool(answer.status == 202)
        return process.popen.poll() is not None

    process = trainer.start_program(
        EXAMPLE, QTJ_ARTIFACTS_URI=str(tmp_path), QTJ_JOB="qcnn", QTJ_JOB_UID="uid-1", QTJ_METRICS_PORT=str(port)
    )
    wait_until(is_accepted)
    ended = process.end()

    assert ended.code == 0, ended.errors
    assert ended.message is not None
    assert ended.message.progress is not None
    name = "step-4-0123abcd"
    assert ended.message.progress.captures == (CaptureRecord(name, "Stored", f"{LOGS}/{name}"),)
    assert steps_of(tmp_path / LOGS / name / "worker-0.xplane.pb") == [3]
