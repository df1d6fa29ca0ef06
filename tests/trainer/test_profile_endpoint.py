"""Requests for profiles over HTTP."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import qtj_contract as contract
from qtj_contract import Capture, CaptureRecord, ProfileSchedule
from qtj_trainer.replica.captures import Captures
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.stored.position import Position
from tests.trainer.test_captures import LOGS, steps_in, take_steps

ID = "0123abcd"


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    return Replica.join({"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1"}, Stop(), str(tmp_path))


@pytest.fixture
def server(replica: Replica) -> Iterator[HTTPConnection]:
    connection = HTTPConnection("127.0.0.1", replica.telemetry.serve(0), timeout=30)
    yield connection
    connection.close()


def asked(server: HTTPConnection, method: str, body: str = "") -> tuple[int, str]:
    server.request(method, contract.PROFILE_PATH, body)
    answer = server.getresponse()
    return answer.status, answer.read().decode()


def post(server: HTTPConnection, **fields: Any) -> tuple[int, str]:
    return asked(server, "POST", json.dumps({"id": ID, **fields}))


def test_a_requested_profile_is_taken_stored_and_reported(
    replica: Replica, server: HTTPConnection, tmp_path: Path
) -> None:
    with Captures(replica, (), Position()) as taken:
        take_steps(taken, 1, 2)
        schedule = contract.ProfileSchedule.parse(asked(server, "GET")[1])
        accepted = post(server, step=5, steps=2)
        take_steps(taken, 3, 9)

    assert schedule is not None
    assert (schedule.replicas, schedule.step) == (("worker-0",), 2)
    assert accepted == (202, f'{{"name": "step-5-{ID}"}}')
    assert steps_in(tmp_path, f"step-5-{ID}") == [5, 6]
    assert replica.telemetry.captures == (CaptureRecord(f"step-5-{ID}", "Stored", f"{LOGS}/step-5-{ID}"),)


def test_a_requested_profile_that_never_started_is_reported(replica: Replica, server: HTTPConnection) -> None:
    with Captures(replica, (), Position()) as taken:
        post(server, step=50)
        take_steps(taken, 1, 3)

    why = "the training ended before it started"
    assert replica.telemetry.captures == (CaptureRecord(f"step-50-{ID}", "Failed", error=why),)
    assert post(server, step=60) == (409, "the training has ended")


@pytest.mark.parametrize("origin", ["https://example.com", "null"])
def test_a_page_in_a_browser_takes_no_profile(replica: Replica, server: HTTPConnection, origin: str) -> None:
    """A page may send text to every port of this machine."""
    with Captures(replica, (), Position()) as taken:
        body = json.dumps({"id": ID, "step": 3})
        server.request("POST", contract.PROFILE_PATH, body, {"Origin": origin, "Content-Type": "text/plain"})
        answer = server.getresponse()
        sentence = answer.read().decode()
        take_steps(taken, 1, 6)

    assert (answer.status, sentence) == (403, "a page in a browser may not ask for a profile: use qtj profile")
    assert replica.telemetry.captures == ()


def test_artifacts_that_cannot_be_written_end_no_training(
    replica: Replica, server: HTTPConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qtj_trainer.replica.captures.PATIENCE", 0.5)
    (tmp_path / "logs").write_text("a file, and no folder")

    with Captures(replica, (), Position()) as taken:
        post(server, step=3, steps=1)
        take_steps(taken, 1, 6)

    (record,) = replica.telemetry.captures
    assert (record.name, record.state) == (f"step-3-{ID}", "Failed")
    assert record.error


def test_a_withdrawn_request_leaves_nothing(replica: Replica, server: HTTPConnection, tmp_path: Path) -> None:
    with Captures(replica, (), Position()) as taken:
        post(server, step=3)
        assert asked(server, "DELETE", json.dumps({"id": ID, "step": 3}))[0] == 202
        take_steps(taken, 1, 6)

    assert replica.telemetry.captures == ()
    assert not (tmp_path / "logs").exists()


def test_a_step_that_has_begun_has_an_answer_of_its_own(replica: Replica, server: HTTPConnection) -> None:
    with Captures(replica, (), Position()) as taken:
        take_steps(taken, 1, 4)
        assert post(server, step=5) == (412, "step 5 has begun already: choose a later one")


def test_before_the_training_a_request_is_refused(server: HTTPConnection) -> None:
    sentence = "this replica takes no steps now: ask the leader, once the training has started"

    assert asked(server, "GET") == post(server, step=3) == (409, sentence)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "this is no request for a profile: "),
        ("[]", "this is no request for a profile: "),
        ('{"id": "0123abcd", "step": 9, "path": "/etc"}', "this is no request for a profile: "),
        ('{"id": "../../etc", "step": 9}', "this is no request for a profile: "),
        ('{"step": 9}', "a request for a profile has an id of eight hexadecimal digits, and a step"),
        ('{"id": "0123abcd", "epoch": 9}', "a request for a profile has an id of eight hexadecimal digits, and a step"),
        ('{"id": "0123abcd", "step": 9, "steps": 1001}', "a profile has at most 1000 steps"),
        ('{"id": "0123abcd", "step": 9, "duration": "61s"}', "a profile takes from 1ms to 60s"),
        ('{"id": "0123abcd", "step": 9, "duration": "0s"}', "a profile takes from 1ms to 60s"),
        ('{"id": "0123abcd", "step": 9, "duration": "2s", "steps": 2}', "a profile takes steps or a duration: "),
        ("x" * 513, "the body of a request for a profile has at most 512 bytes"),
    ],
)
def test_what_is_no_bounded_capture_is_refused_in_one_sentence(
    replica: Replica, server: HTTPConnection, body: str, why: str
) -> None:
    with Captures(replica, (), Position()) as taken:
        status, sentence = asked(server, "POST", body)
        take_steps(taken, 1, 1)

    assert (status, sentence.startswith(why), "\n" in sentence) == (400, True, False), sentence
    assert replica.telemetry.captures == ()


def test_other_methods_are_refused(replica: Replica, server: HTTPConnection) -> None:
    with Captures(replica, (), Position()):
        assert asked(server, "PUT", "{}") == (405, "use GET, POST or DELETE")


@pytest.mark.parametrize(
    "answer",
    ["", "[]", '{"step": 3}', '{"replicas": ["../x"], "step": 3}', '{"replicas": [7], "step": 3}', '{"replicas": []}'],
)
def test_an_answer_that_is_no_schedule_is_none(answer: str) -> None:
    assert ProfileSchedule.parse(answer) is None


def test_the_body_of_a_request_is_read_as_it_was_written() -> None:
    for capture in (Capture(id=ID, step=9), Capture(id=ID, step=9, steps=3), Capture(id=ID, step=9, duration="2s")):
        assert contract.parse_request(contract.request_body(capture)) == capture
