"""The address of a report in the termination message."""

import json

import pytest

from qtj_contract import TERMINATION_MESSAGE_LIMIT, Capture, CaptureRecord, Progress, TerminationMessage, Weights

WEIGHTS = Weights(uri="gs://lab/weights/1.h5", sha256="ab" * 32)


def test_a_message_has_the_address_of_the_report() -> None:
    message = TerminationMessage(weights=WEIGHTS, report="gs://lab/reports/toy.html")

    assert TerminationMessage.parse(message.to_json()) == message


@pytest.mark.parametrize("written", ["https://example.org", 3, ["gs://lab/x"], "gs://lab/x\ny", ""])
def test_something_else_is_left_out_and_the_weights_stay(written: object) -> None:
    fields = json.loads(TerminationMessage(weights=WEIGHTS).to_json()) | {"report": written}

    assert TerminationMessage.parse(json.dumps(fields)) == TerminationMessage(weights=WEIGHTS)


def test_a_report_that_does_not_fit_is_left_out_after_the_captures() -> None:
    progress = Progress(epoch=1, captures=(CaptureRecord(Capture(epoch=1).name, "Failed", error="x" * 120),) * 8)
    report = f"gs://lab/{'x' * TERMINATION_MESSAGE_LIMIT}"

    message = TerminationMessage(weights=WEIGHTS, progress=progress, report=report)

    assert TerminationMessage.parse(message.to_json()) == TerminationMessage(
        weights=WEIGHTS, progress=Progress(epoch=1)
    )
