"""The sentence that explains a phase, in the status, the report and the last line of a run."""

import pytest

from qtj.runs.status_text import phase_message

COMPLETE = {"type": "Complete", "reason": "InferenceDone", "message": "inference is done: mse 1.661"}
IN_PART = "worker-0 has succeeded, but training ended after 5 of 20 steps, because the data ran out"


@pytest.mark.parametrize(
    ("reason", "more"),
    [("WeightsStored", ""), ("TrainedInPart", f"; {IN_PART}")],
)
def test_a_complete_job_that_has_trained_in_part_says_so(reason: str, more: str) -> None:
    trained = {"type": "Trained", "reason": reason, "message": IN_PART}

    assert phase_message({"phase": "Complete", "conditions": [COMPLETE, trained]}) == COMPLETE["message"] + more
