"""One replica of a job, in this process: what it does before training and after it, as leader and as follower."""

import json
import logging
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import qtj_contract as contract
from qtj_trainer.errors import TryAgainError, UserError
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.stored.artifacts import Result
from tests.trainer.checkpoints import FOLDER, JOB, save

WEIGHTS = contract.Weights(uri="gs://bucket/weights/1.h5", sha256="1f" * 32)


def cluster(index: int, port: int = 2) -> str:
    hosts = {"worker": ["localhost:1", f"localhost:{port}"]}
    return json.dumps({"cluster": hosts, "task": {"type": "worker", "index": index}})


@pytest.fixture
def message(tmp_path: Path) -> Path:
    """The file that the kubelet reads."""
    return tmp_path / "termination.json"


def replica(folder: Path, environment: Mapping[str, str] | None = None, *, index: int | None = None) -> Replica:
    variables = {str(contract.Env.JOB_UID): JOB, str(contract.Env.TERMINATION_LOG): str(folder / "termination.json")}
    if index is not None:
        variables[contract.Env.TF_CONFIG] = cluster(index)
    return Replica.join(variables | dict(environment or {}), Stop(), str(folder / "artifacts"))


def finished(folder: Path, uid: str = JOB, **more: Any) -> Result:
    result = Result(job_uid=uid, weights=WEIGHTS, metrics={"mse": 0.5}, **more)
    result.store(replica(folder).store)
    return result


def test_a_job_without_a_result_has_not_finished(tmp_path: Path, message: Path) -> None:
    assert replica(tmp_path).finished() is None
    assert not message.exists()


def test_the_leader_of_a_finished_job_reports_it_again_and_removes_what_is_left(tmp_path: Path, message: Path) -> None:
    result = finished(tmp_path)
    leader = replica(tmp_path, index=0)
    save(leader.store, 1, 2)

    assert leader.finished() == result
    report = leader.store.uri("reports/uid-1.html")
    assert contract.TerminationMessage.parse(message.read_text()) == result.message(report)
    assert leader.store.list(FOLDER) == []


def test_a_follower_of_a_finished_job_leaves_all_to_the_leader(tmp_path: Path, message: Path) -> None:
    result = finished(tmp_path)
    follower = replica(tmp_path, index=1)
    save(follower.store, 1)

    assert follower.finished() == result
    assert not message.exists()
    assert len(follower.store.list(FOLDER)) == 1


def test_a_finished_job_is_logged_with_its_weights(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "qtj_trainer")
    finished(tmp_path)

    replica(tmp_path, index=1).finished()

    assert caplog.messages == ["this job has finished already: its weights are gs://bucket/weights/1.h5"]


def test_the_result_of_another_job_in_the_same_folder_is_not_its_own(tmp_path: Path, message: Path) -> None:
    finished(tmp_path, uid="uid-of-another")

    assert replica(tmp_path).finished() is None
    assert replica(tmp_path).result_so_far() is None
    assert not message.exists()


def test_a_result_that_cannot_be_decoded_ends_the_run_unless_it_is_only_looked_for(tmp_path: Path) -> None:
    one = replica(tmp_path)
    one.store.write("result.json", b"{")

    with pytest.raises(UserError, match=r"result\.json"):
        one.finished()
    assert one.result_so_far() is None


def test_only_the_leader_needs_artifacts_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "artifacts").touch()

    with pytest.raises(UserError, match=r"^cannot write artifacts to "):
        replica(tmp_path, index=0).check()
    replica(tmp_path, index=1).check()

    assert (tmp_path / "artifacts").read_bytes() == b""


def test_a_port_for_profiles_that_is_in_use_is_named_before_training(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(UserError) as refused:
            replica(tmp_path, {contract.Env.PROFILER_PORT: str(port)}).check()

    assert str(refused.value) == (
        f"cannot listen on port {port} (Address already in use): set QTJ_PROFILER_PORT to a free one"
    )


def test_a_port_for_its_peers_that_is_in_use_is_named_before_it_waits_for_them(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(UserError) as refused:
            replica(tmp_path, {contract.Env.TF_CONFIG: cluster(1, port)}).meet()

    assert str(refused.value) == (
        f"cannot listen as worker 1 at localhost:{port} (Address already in use): free the port or use another one"
    )


def test_progress_is_kept_where_no_port_is_named(tmp_path: Path) -> None:
    one = replica(tmp_path)

    one.serve(contract.Progress(epoch=0, epochs=9), "loading")

    assert (one.telemetry.progress.epochs, one.telemetry.activity) == (9, "loading")


def test_a_replica_without_peers_meets_nobody(tmp_path: Path) -> None:
    one = replica(tmp_path)
    one.telemetry.activity = "running"

    one.meet()

    assert one.telemetry.activity == "running"


def test_the_uid_of_a_program_without_a_job_is_empty(tmp_path: Path) -> None:
    assert replica(tmp_path, {contract.Env.JOB_UID: ""}).job_uid == ""
    assert Replica.join({}, Stop(), str(tmp_path)).job_uid == ""


def test_a_replica_does_not_show_its_environment(tmp_path: Path) -> None:
    assert "hunter2" not in repr(replica(tmp_path, {"PASSWORD": "hunter2"}))


class Ending:
    """Records in which order a training ends."""

    def __init__(self, one: Replica) -> None:
        self.order: list[str] = []
        self.patience = 0.0
        self._one = one

    def store(self) -> Result:
        self.order.append(f"store while {self._one.telemetry.activity}")
        self.patience = self._one.stop.patience
        return self._one.store_result(WEIGHTS, {"mse": 0.5}, epoch=3)

    def leave(self) -> None:
        self.order.append("leave")

    def peer_lost(self) -> None:
        raise TryAgainError("worker 1 is gone")


def test_the_leader_stores_before_all_leave_and_reports_after(tmp_path: Path, message: Path) -> None:
    leader = replica(tmp_path, index=0)
    leader.telemetry.progress = contract.Progress(epoch=3, epochs=3)
    ending = Ending(leader)

    leader.finish(ending.store, ending.leave)

    assert ending.order == ["store while storing", "leave"]
    reported = contract.TerminationMessage.parse(message.read_text())
    assert reported
    assert (reported.weights, reported.metrics) == (WEIGHTS, {"mse": 0.5})
    assert leader.finished() == Result(
        job_uid=JOB, weights=WEIGHTS, metrics={"mse": 0.5}, progress=contract.Progress(epoch=3, epochs=3), epoch=3
    )


def test_storing_is_given_all_the_time_it_needs_and_leaving_is_not(tmp_path: Path) -> None:
    leader = replica(tmp_path, index=0)
    ending = Ending(leader)
    leader.stop.patience = 5

    leader.finish(ending.store, ending.leave)

    assert ending.patience == float("inf")
    assert leader.stop.patience == 5


def test_a_follower_stores_and_reports_nothing(tmp_path: Path, message: Path) -> None:
    follower = replica(tmp_path, index=1)
    ending = Ending(follower)

    follower.finish(ending.store, ending.leave)

    assert ending.order == ["leave"]
    assert not message.exists()
    assert follower.result_so_far() is None


def test_a_peer_that_is_lost_at_the_end_costs_no_result(tmp_path: Path, message: Path) -> None:
    leader = replica(tmp_path, index=0)
    ending = Ending(leader)

    with pytest.raises(TryAgainError):
        leader.finish(ending.store, ending.peer_lost)

    assert not message.exists(), "the next attempt reports it"
    assert replica(tmp_path, index=0).finished()
    assert message.exists()


def test_a_result_that_nobody_could_read_is_an_error_of_the_node(tmp_path: Path, message: Path) -> None:
    finished(tmp_path)
    message.mkdir()

    with pytest.raises(TryAgainError, match=r"cannot be written to .* \(Is a directory\): make room on the node"):
        replica(tmp_path, index=0).finished()
