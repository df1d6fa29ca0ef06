"""Reading the Job of inference, and whose an object is."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.parse import parse_inference
from tests.controller.rawpods import condition
from tests.core.world import pods_of


def test_an_inference_job_is_done_only_when_its_condition_is_true() -> None:
    raw = {
        "metadata": {
            "name": "qcnn-inference",
            "uid": "u",
            "resourceVersion": "7",
            "creationTimestamp": "2030-01-01T12:00:00Z",
            "labels": {"quantumtraining.dev/inference": "a1"},
        },
        "status": {"conditions": [condition("Complete", "False"), condition("Failed", "True")]},
    }

    found = parse_inference(raw, ())

    assert (found.uid, found.run) == ("u", "a1")
    assert found.created == datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert (found.complete, found.failed, found.deleting) == (False, True, False)
    assert found.result is None


def test_of_pods_that_failed_the_one_that_did_for_good_is_the_result() -> None:
    pods = pods_of({"worker-0": {"exit_code": 137}, "worker-1": {"exit_code": 3}})

    assert replace(parse_inference(RAW_JOB, ()), pods=pods).result == pods[1]


META = {"name": "qcnn-inference", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2030-01-01T12:00:00Z"}
RAW_JOB = {"metadata": META}


@pytest.mark.parametrize(
    ("how", "done", "given_up"),
    [
        ({"exit_code": 0, "sidecar": True}, True, False),
        ({"exit_code": 0, "sidecar": True, "deleting": True}, False, False),
        ({"exit_code": 3, "sidecar": True}, False, True),
        ({"exit_code": 137, "sidecar": True}, False, False),
        ({"exit_code": 0}, False, False),
        ({"exit_code": 3}, False, False),
        ({"ready": True}, False, False),
    ],
)
def test_the_program_speaks_for_a_job_only_where_a_sidecar_keeps_it_from_its_end(
    how: dict[str, Any],
    done: bool,
    given_up: bool,
) -> None:
    found = replace(parse_inference(RAW_JOB, ()), pods=pods_of({"worker-0": how}))

    assert (found.done, found.given_up) == (done, given_up)


def test_an_inference_job_that_lost_its_labels_is_another_run_than_any_that_is_wanted() -> None:
    meta = {
        "name": "qcnn-inference",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2030-01-01T12:00:00Z",
    }
    unlabelled = {"metadata": {**meta, "deletionTimestamp": "2030-01-01T12:00:00Z"}}
    relabelled = {"metadata": {**meta, "labels": {"team": "a"}}}

    assert parse_inference(unlabelled, ()).run == parse_inference(relabelled, ()).run == ""
    assert parse_inference(unlabelled, ()).deleting


def test_an_object_belongs_to_its_controller_alone() -> None:
    owners = [{"uid": "a", "controller": True}, {"uid": "b"}]

    assert is_controlled_by({"metadata": {"ownerReferences": owners}}, "a")
    assert not is_controlled_by({"metadata": {"ownerReferences": owners}}, "b")
    assert not is_controlled_by({"metadata": {"ownerReferences": None}}, "a")
    assert not is_controlled_by({"metadata": {}}, "a")
