"""Profiles that a training takes of itself, in one process."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

import qtj_contract as contract
from qtj_contract import Capture
from qtj_trainer.errors import StoppedError, UserError
from qtj_trainer.replica.captures import Captures, planned_captures
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.stored.position import Epoch, Position
from tests.trainer.loops import Folder
from tools.background import free_ports, tf_configs

STEPS_OF_AN_EPOCH = 3
LOGS = "logs/qcnn-uid-1/plugins/profile"


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    return Replica.join({"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1"}, Stop(), str(tmp_path))


def train(replica: Replica, captures: Sequence[Capture], steps: int, start: Position | None = None) -> None:
    """Takes steps that a profile shows with their numbers."""
    start = start or Position()
    with Captures(replica, captures, start) as taken:
        taken.reach(start.step, start.epochs)
        take_steps(taken, start.step + 1, steps)


def take_steps(taken: Captures, first: int, last: int) -> None:
    for step in range(first, last + 1):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            tf.add(1.0, step)
        taken.reach(step, step // STEPS_OF_AN_EPOCH)


def steps_in(folder: Path, name: str) -> list[int]:
    """The numbers of the steps in a profile of the only replica."""
    return steps_of(folder / LOGS / name / "worker-0.xplane.pb")


def steps_of(profile: Path) -> list[int]:
    space = xplane_pb2.XSpace.FromString(profile.read_bytes())
    found = set()
    for plane in space.planes:
        names = {number: each.name for number, each in plane.event_metadata.items()}
        stats = {number: each.name for number, each in plane.stat_metadata.items()}
        events = [each for line in plane.lines for each in line.events if names[each.metadata_id] == "train"]
        found |= {stat.int64_value for each in events for stat in each.stats if stats[stat.metadata_id] == "step_num"}
    return sorted(found)


def states(replica: Replica) -> dict[str, str]:
    return {each.name: each.state for each in replica.telemetry.captures}


def errors(replica: Replica) -> list[str]:
    return [each.error for each in replica.telemetry.captures]


def test_a_profile_has_the_steps_that_were_asked_for(replica: Replica, tmp_path: Path) -> None:
    train(replica, [Capture(epoch=2, steps=2), Capture(step=9, steps=3)], steps=15)

    assert steps_in(tmp_path, "epoch-2") == [4, 5]
    assert steps_in(tmp_path, "step-9") == [9, 10, 11]
    assert replica.telemetry.captures == (
        contract.CaptureRecord("epoch-2", "Stored", f"{LOGS}/epoch-2"),
        contract.CaptureRecord("step-9", "Stored", f"{LOGS}/step-9"),
    )


def test_a_profile_by_time_ends_with_a_step(replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock advances by a quarter of a second at each boundary."""
    times = iter(range(1_000_000))
    monkeypatch.setattr("qtj_trainer.replica.captures.time.monotonic", lambda: next(times) / 4)

    train(replica, [Capture(elapsed="1s", duration="500ms")], steps=12)

    assert steps_in(tmp_path, "elapsed-1s") == [4, 5]


def test_one_profile_is_taken_after_the_other(replica: Replica, tmp_path: Path) -> None:
    train(replica, [Capture(step=1, steps=4), Capture(step=2, steps=2)], steps=12)

    assert steps_in(tmp_path, "step-1") == [1, 2, 3, 4]
    assert steps_in(tmp_path, "step-2") == [5, 6]


def test_a_profile_that_is_running_ends_with_the_training(replica: Replica, tmp_path: Path) -> None:
    train(replica, [Capture(step=5)], steps=6)

    assert steps_in(tmp_path, "step-5") == [5, 6]


def test_a_capture_that_never_started_is_reported(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    train(replica, [Capture(step=50)], steps=6)

    assert states(replica) == {"step-50": "Failed"}
    assert caplog.messages == ["profile step-50: the training ended before it started"]


@pytest.mark.parametrize("late", [Capture(step=7), Capture(epoch=3)], ids=["step", "epoch"])
def test_a_capture_after_the_last_step_stores_no_profile_without_steps(
    replica: Replica, tmp_path: Path, late: Capture
) -> None:
    train(replica, [late], steps=6)

    assert states(replica) == {late.name: "Failed"}
    assert errors(replica) == ["the training ended before it started"]
    assert not (tmp_path / LOGS / late.name).exists()


def test_an_attempt_that_ends_sooner_keeps_the_profile_of_the_one_before(replica: Replica, tmp_path: Path) -> None:
    train(replica, [Capture(elapsed="0s", steps=1)], steps=2)
    profile = contract.CaptureRecord("elapsed-1h", "Stored", f"{LOGS}/elapsed-1h")
    (tmp_path / LOGS / "elapsed-0s").rename(tmp_path / LOGS / "elapsed-1h")
    later = Replica.join(replica.environment, Stop(), str(tmp_path))

    train(later, [Capture(elapsed="1h")], 4, Position(2))

    assert later.telemetry.captures == (profile,)


def test_a_trace_that_is_running_already_ends_no_training(replica: Replica, tmp_path: Path) -> None:
    """As when TensorBoard takes one at this moment."""
    tf.profiler.experimental.start(str(tmp_path / "other"))
    train(replica, [Capture(step=2, steps=1)], steps=4)
    tf.profiler.experimental.stop()

    [error] = errors(replica)
    assert error.startswith("worker-0: TensorFlow's profiler: ")
    assert states(replica) == {"step-2": "Failed"}


def test_a_disk_without_room_for_a_trace_ends_no_training(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))

    train(replica, [Capture(step=2, steps=1)], steps=4)

    assert states(replica) == {"step-2": "Failed"}
    assert errors(replica)[0].startswith("worker-0: a profile needs a temporary folder (Not a directory): make room")


def test_a_profile_that_cannot_be_stored_ends_no_training(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_trainer.replica.captures.PATIENCE", 0.5)
    (tmp_path / "logs").write_text("a file, and no folder")

    train(replica, [Capture(step=2, steps=1)], steps=4)

    assert states(replica) == {"step-2": "Failed"}
    assert all(errors(replica))


def test_an_interrupted_training_leaves_no_trace_running(replica: Replica, tmp_path: Path) -> None:
    def interrupted() -> None:
        with Captures(replica, [Capture(step=1)], Position()) as captures:
            captures.reach(0, 0)
            raise StoppedError("worker 0 was asked to end")

    with pytest.raises(StoppedError):
        interrupted()
    train(replica, [Capture(step=1, steps=1)], steps=2)
    assert steps_in(tmp_path, "step-1") == [1]


def test_a_peer_that_has_stored_nothing_in_this_attempt_is_named_although_it_had_in_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_trainer.replica.captures.PATIENCE", 0.5)
    monkeypatch.setattr("qtj_trainer.replica.captures.has_safe_traces", lambda: True)
    before = tmp_path / LOGS / "elapsed-0s"
    before.mkdir(parents=True)
    (before / "worker-1.xplane.pb").write_bytes(b"of the first attempt")
    environment = {"TF_CONFIG": tf_configs(worker=2)["worker", 0], "QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1"}
    leader = Replica.join(environment, Stop(), str(tmp_path))

    train(leader, [Capture(elapsed="0s", steps=1)], steps=2)

    (record,) = leader.telemetry.captures
    assert (record.state, record.error) == ("Stored", "worker-1 has stored no profile")


def test_an_attempt_reports_what_the_one_before_has_taken(replica: Replica, tmp_path: Path) -> None:
    train(replica, [Capture(step=1, steps=1)], steps=2)
    later = Replica.join(replica.environment, Stop(), str(tmp_path))

    train(later, [Capture(step=1), Capture(epoch=1), Capture(step=8)], 12, Position(6, Epoch(2, 6, 0.5, {}, 1.0)))

    assert states(later) == {"step-1": "Stored", "epoch-1": "Failed", "step-8": "Stored"}
    assert steps_in(tmp_path, "step-1") == [1]


def test_captures_are_in_the_answer_of_the_progress_endpoint_and_in_the_result(replica: Replica) -> None:
    train(replica, [Capture(step=1, steps=1)], steps=2)

    port = replica.telemetry.serve(0)
    with urlopen(f"http://127.0.0.1:{port}/progress") as answer:
        progress = contract.Progress.parse(answer.read().decode())
    result = replica.store_result(contract.Weights(uri="file:///w.h5", sha256="ab" * 32), {})
    assert progress is not None
    assert result.progress is not None
    assert states(replica) == {"step-1": "Stored"}
    assert progress.captures == result.progress.captures == replica.telemetry.captures


def test_a_follower_that_cannot_be_traced_safely_is_not_and_the_leader_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = (
        Replica.join({**replica, "QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1"}, Stop(), str(tmp_path))
        for replica in ({"TF_CONFIG": config} for config in tf_configs(worker=2).values())
    )
    asked = [Capture(step=2, steps=1)]
    with Captures(leader, asked, Position()) as leading, Captures(follower, asked, Position()) as following:
        for step in range(4):
            for each, is_safe in ((following, False), (leading, True)):
                monkeypatch.setattr("qtj_trainer.replica.captures.has_safe_traces", lambda answer=is_safe: answer)
                each.reach(step, 0)

    why = "worker-1: a trace can end this process, because TensorFlow's tracer is not corrected"
    assert leader.telemetry.captures == (contract.CaptureRecord("step-2", "Stored", f"{LOGS}/step-2", why),)
    assert follower.telemetry.captures == (), "the operator asks the leader"
    assert [file.name for file in sorted((tmp_path / LOGS / "step-2").iterdir())] == [
        "worker-0.xplane.pb",
        "worker-1.error.txt",
    ]


def test_a_variable_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    replica = Replica.join({"QTJ_PROFILER_CAPTURES": "soon"}, Stop(), str(tmp_path))

    with pytest.raises(UserError, match=r"^QTJ_PROFILER_CAPTURES: 'soon' is no list of captures: write for example \["):
        planned_captures(replica)


def test_a_program_without_tensorflow_trains_and_has_no_profile(job: Folder) -> None:
    (port,) = free_ports(1)
    captures: list[dict[str, Any]] = [{"step": 2}]

    ended = job.run(QTJ_PROFILER_CAPTURES=json.dumps(captures), QTJ_METRICS_PORT=str(port))

    assert ended.code == 0, ended.errors
    assert ended.message is not None
    assert ended.message.progress is not None
    assert ended.message.progress.captures == (
        contract.CaptureRecord("step-2", "Failed", error="worker-0: the program does not use TensorFlow"),
    )
