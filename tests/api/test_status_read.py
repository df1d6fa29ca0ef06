"""Reading a status: an earlier or a later operator may have written it."""

from typing import Any

import pytest

from qtj_operator.api.reading import read_status
from qtj_operator.api.status import Phase, Status


def test_a_status_is_read_back_as_it_was_written() -> None:
    status = Status(phase=Phase.RUNNING, attempt=2, restarts=1)

    assert read_status({"status": status.to_dict()}) == status


def test_a_status_field_of_a_later_operator_is_passed_over() -> None:
    raw = {"status": {"attempt": 4, "notebook": {"service": "qcnn-notebook"}}}

    assert read_status(raw).attempt == 4, "to forget the attempt would train the job again"


@pytest.mark.parametrize(
    "unknown",
    [
        {"phase": "Paused"},
        {"attempt": 4, "restarts": "many"},
        {"inference": {"phase": "Paused", "run": "1f3c"}},
        {"inference": {"run": "1f3c"}},
        {"conditions": [{"type": "Running"}, "nonsense", {}]},
        {"replicas": {"Worker": {"desired": "two"}}},
        {"failures": "none"},
        {"weights": ["gs://bucket/w"], "progress": None, "startTime": "soon"},
    ],
    ids=str,
)
def test_a_status_value_of_a_later_operator_is_passed_over(unknown: dict[str, Any]) -> None:
    assert read_status({"status": {"attempt": 4, **unknown}}).attempt == 4


def test_what_is_known_beside_an_unknown_value_stays() -> None:
    known = {
        "type": "Trained",
        "status": "True",
        "reason": "WeightsStored",
        "message": "done",
        "observedGeneration": 1,
        "lastTransitionTime": "2030-01-01T12:00:00Z",
    }
    later = {**known, "type": "Archived", "status": "Perhaps"}
    worker = {"desired": 2, "ready": 0, "succeeded": 2, "failed": 0}

    status = read_status(
        {
            "status": {
                "phase": "Archiving",
                "conditions": [later, known],
                "replicas": {"Worker": worker, "PS": {**worker, "ready": "yes"}},
            }
        }
    )

    assert status.to_dict() == {"conditions": [known], "replicas": {"Worker": worker}}


@pytest.mark.parametrize("nonsense", [None, [], "Running", {"attempt": "many"}], ids=str)
def test_a_status_that_makes_no_sense_counts_as_none(nonsense: object) -> None:
    assert read_status({"status": nonsense}) == Status()
