"""Whether `qtj run` continues an earlier run: the table of the policy, and the sentence that each case has."""

from pathlib import Path
from typing import Any

import pytest

from qtj.local.folder import Folder, FolderError
from qtj.runs.resume_policy import EarlierRun, Start, is_resumable
from qtj_operator.api.names import API_VERSION
from tests.cli.earlier import Desk, start
from tests.local.laptop import toy_job


def test_the_first_run_of_a_job_starts_without_a_note(desk: Desk) -> None:
    assert start(desk.written(), None) == Start(spec=desk.written().manifest["spec"])


def test_a_run_from_before_the_newest_version_of_the_api_continues(desk: Desk) -> None:
    earlier = desk.ended("Running", toy_job() | {"apiVersion": API_VERSION})

    assert start(desk.written(), earlier).earlier == earlier


@pytest.mark.parametrize(
    ("phase", "continues", "note"),
    [
        ("Pending", True, "continues toy/1, which was interrupted: --fresh starts over"),
        ("Running", True, "continues toy/1, which was interrupted: --fresh starts over"),
        ("Suspended", True, "continues toy/1, which was interrupted: --fresh starts over"),
        ("Failed", False, "starts over; toy/1 failed, and --resume would continue it"),
        ("Complete", False, "starts over; toy/1 stays as it is"),
    ],
)
def test_without_an_option_only_an_interrupted_run_of_the_same_spec_continues(
    desk: Desk, phase: str, *, continues: bool, note: str
) -> None:
    earlier = desk.ended(phase)

    found = start(desk.written(), earlier)

    assert found.earlier == (earlier if continues else None)
    assert found.note == note
    assert found.spec == desk.written().manifest["spec"]


@pytest.mark.parametrize("phase", ["Running", "Failed", "Complete"])
def test_with_resume_each_run_continues_whatever_its_phase(desk: Desk, phase: str) -> None:
    earlier = desk.ended(phase)

    found = start(desk.written(), earlier, resume=True)

    assert (found.earlier, found.note) == (earlier, "")


def test_a_failed_run_continues_as_a_retry_and_an_interrupted_one_does_not(desk: Desk) -> None:
    assert start(desk.written(), desk.ended("Failed"), resume=True).spec["retry"] == 1
    assert "retry" not in start(desk.written(), desk.ended("Running"), resume=True).spec


@pytest.mark.parametrize(
    ("recorded", "observed", "asked", "expected"),
    [(2, None, None, 3), (None, 4, None, 5), (2, 4, 1, 5), (1, 1, 7, 7), (3, 3, 3, 4)],
)
def test_a_retry_is_one_more_than_any_before_and_never_less_than_asked_for(
    desk: Desk, recorded: int | None, observed: int | None, asked: int | None, expected: int
) -> None:
    def of(retry: int | None) -> dict[str, Any]:
        job = toy_job()
        job["spec"] |= {} if retry is None else {"retry": retry}
        return job

    earlier = desk.ended("Failed", of(recorded), **({} if observed is None else {"retry": observed}))

    assert start(desk.written(of(asked)), earlier, resume=True).spec["retry"] == expected


@pytest.mark.parametrize("edited", ["2", [1], {"a": 1}, None, 1.5])
def test_a_recorded_retry_that_is_no_number_counts_as_none(desk: Desk, edited: object) -> None:
    before = toy_job()
    before["spec"]["retry"] = edited

    assert start(desk.written(), desk.ended("Failed", before, retry=3), resume=True).spec["retry"] == 4


@pytest.mark.parametrize("field", ["suspend", "retry"])
def test_what_only_asks_for_a_start_or_a_stop_makes_no_other_job(desk: Desk, field: str) -> None:
    before = toy_job()
    before["spec"][field] = True if field == "suspend" else 3

    assert is_resumable(desk.written(), desk.ended("Running", before))


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (toy_job(inference=None), "spec.inference"),
        (toy_job(runPolicy={"backoffLimit": 5}), "spec.runPolicy"),
        (toy_job(inference={"args": ["infer", "-v"]}, runPolicy={}), "spec.inference, spec.runPolicy"),
    ],
)
def test_an_interrupted_run_of_a_spec_that_may_change_names_what_changed(
    desk: Desk, before: dict[str, Any], why: str
) -> None:
    found = start(desk.written(), desk.ended("Running", before))

    assert found.earlier is None
    assert found.note == f"starts over, because {why} changed; toy/1 was interrupted, and --resume would continue it"


def test_a_run_of_another_namespace_is_another_job(desk: Desk) -> None:
    elsewhere = toy_job()
    elsewhere["metadata"]["namespace"] = "lab"

    assert not is_resumable(desk.written(elsewhere), desk.ended("Running"))


def test_a_job_that_never_ran_is_not_resumable(desk: Desk) -> None:
    assert not is_resumable(desk.written(), None)


def test_a_finished_run_is_not_resumable(desk: Desk) -> None:
    assert not is_resumable(desk.written(), desk.ended("Complete"))
    assert not is_resumable(desk.written(), desk.ended("Failed"))


def test_beside_a_job_that_continues_a_complete_one_is_not_trained_again(desk: Desk) -> None:
    earlier = desk.ended("Complete")

    found = start(desk.written(), earlier, alongside=True)

    assert (found.earlier, found.note) == (earlier, "toy/1 is Complete already: --fresh trains it again")


def test_beside_a_job_that_continues_a_complete_one_that_was_changed_starts_over(desk: Desk) -> None:
    found = start(desk.written(), desk.ended("Complete", toy_job(epochs=9)), alongside=True)

    assert (found.earlier, found.note) == (None, "starts over; toy/1 stays as it is")


def test_beside_a_job_that_continues_a_failed_one_starts_over(desk: Desk) -> None:
    assert start(desk.written(), desk.ended("Failed"), alongside=True).earlier is None


def test_a_run_that_is_under_way_is_named_with_what_can_be_done(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.claim()
    try:
        with pytest.raises(FolderError) as refused:
            EarlierRun.of("toy/1", folder)
    finally:
        folder.release()

    assert str(refused.value) == (
        f"toy/1 is active in {tmp_path}: follow it with `qtj attach toy/1`, stop it with `qtj stop toy/1`, or start "
        "another beside it with --fresh"
    )
