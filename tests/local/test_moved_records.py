"""What makes a file the record of a run, and where its weights are once the folder has moved."""

from pathlib import Path
from typing import Any

import pytest

from qtj.local.records import is_record, moved

BEFORE, NOW = Path("/data/my runs/toy/1"), Path("/home/me/toy 1")


def record(**changed: Any) -> dict[str, Any]:
    meta = {"name": "toy", "namespace": "default", "uid": "uid-1"}
    return {"kind": "QuantumTrainingJob", "metadata": meta, "spec": {}, "status": {}, **changed}


def weights_at(uri: Any) -> dict[str, Any]:
    return record(status={"phase": "Complete", "weights": {"uri": uri, "sha256": "1f"}})


@pytest.mark.parametrize("status", [{}, None, {"phase": 5}])
def test_a_job_with_a_name_an_identity_and_a_spec_is_a_record(status: Any) -> None:
    assert is_record(record(status=status))
    assert is_record({key: value for key, value in record().items() if key != "status"})


@pytest.mark.parametrize(
    "job",
    [
        None, [], "job", 5, {},
        record(kind="Job"), record(metadata=None), record(metadata=[]), record(metadata={"name": "toy"}),
        record(metadata={"name": "toy", "namespace": "default", "uid": 5}),
        record(metadata={"name": None, "namespace": "default", "uid": "1"}),
        record(spec=None), record(spec=[]), record(status=[1]), record(status="Complete"),
    ],
)  # fmt: skip
def test_anything_else_is_none(job: object) -> None:
    assert not is_record(job)


def test_weights_below_the_folder_have_moved_with_it() -> None:
    found = moved(weights_at((BEFORE / "weights/a#1.h5").as_uri()), BEFORE, NOW)

    assert found["status"] == {
        "phase": "Complete",
        "weights": {"uri": "file:///home/me/toy%201/weights/a%231.h5", "sha256": "1f"},
    }


@pytest.mark.parametrize(
    "uri", ["gs://bucket/weights/a.h5", "file:///data/other/a.h5", "file:///data/my%20runs/toy/10/a.h5", 5, None]
)
def test_weights_elsewhere_stay_where_they_are(uri: Any) -> None:
    assert moved(weights_at(uri), BEFORE, NOW) == weights_at(uri)


@pytest.mark.parametrize("job", [record(), record(status=None), record(status={"weights": "nowhere"})])
def test_a_record_without_weights_is_as_it_was(job: dict[str, Any]) -> None:
    assert moved(job, BEFORE, NOW) == job


def test_the_record_that_is_given_is_not_changed() -> None:
    mine = weights_at((BEFORE / "a.h5").as_uri())

    moved(mine, BEFORE, NOW)

    assert mine == weights_at((BEFORE / "a.h5").as_uri())
