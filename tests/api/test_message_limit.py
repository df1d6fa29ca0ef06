"""A termination message fits what the kubelet keeps of it, and what a kubelet has cut is read as far as it goes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtj_contract import (
    TERMINATION_MESSAGE_LIMIT,
    CaptureRecord,
    Progress,
    TerminationMessage,
    Weights,
    message_limit,
)

WEIGHTS = Weights(uri="gs://lab-bucket/qcnn/weights/1f3c0a.h5", sha256="1f3c0a" + "0" * 58)
MISSING = "no profile of worker-1 " * 9
CAPTURES = tuple(CaptureRecord(name=f"epoch-{each}", state="Failed", error=MISSING) for each in range(1, 9))
FULL = TerminationMessage(
    weights=WEIGHTS,
    metrics={f"classAccuracy{number:03}": number / 1000 for number in range(200)},
    progress=Progress(epoch=25, epochs=25, step=1000, loss=0.2, captures=CAPTURES),
    report="gs://lab-bucket/qcnn/reports/qcnn-0c9d2f4e.html",
    warning="training ended after 5 of 24 steps, because the data ran out " * 9,
    error="the bucket is gone " * 50,
)


def of_a_kubelet(message: str, containers: int) -> str:
    """What is left in the status of a pod: kubernetes 1.34, pkg/kubelet/status/status_manager.go."""
    return message[:TERMINATION_MESSAGE_LIMIT].encode()[: 12 * 1024 // containers].decode(errors="ignore")


@pytest.mark.parametrize("containers", [1, 2, 3, 4, 6, 12, 32])
@pytest.mark.parametrize("added", [0, 1, 2])
def test_a_message_of_a_pod_with_many_containers_is_not_cut(containers: int, added: int) -> None:
    written = FULL.to_json(message_limit(containers))

    message = TerminationMessage.parse(of_a_kubelet(written, containers + added))

    assert message is not None
    assert not message.is_cut
    assert message.weights == WEIGHTS


def test_a_pod_with_one_container_loses_nothing() -> None:
    assert message_limit(1) == TERMINATION_MESSAGE_LIMIT


@given(limit=st.integers(300, TERMINATION_MESSAGE_LIMIT))
def test_a_message_has_as_much_as_fits(limit: int) -> None:
    written = FULL.to_json(limit)

    assert len(written) <= limit
    assert json.loads(written)["weights"]["uri"] == WEIGHTS.uri


def test_the_weights_survive_wherever_a_message_is_cut() -> None:
    written = FULL.to_json()

    for length in range(len(written)):
        message = TerminationMessage.parse(written[:length])
        assert message is None or message.is_cut, written[:length]
        assert length < 2 or message is not None, written[:length]
        assert length < 150 or (message is not None and message.weights == WEIGHTS)


def test_a_number_that_is_cut_does_not_count() -> None:
    message = TerminationMessage.parse('{"error": "no bucket", "metrics": {"mse": 0.1')

    assert message == TerminationMessage(error="no bucket", is_cut=True)


@pytest.mark.parametrize(
    "text",
    [
        '{"weights": {uri: "gs://b/w", sha256: "00"}, "metrics": {}}',
        '{"level": "info"}\n{"level": "warning"',
        "{'weights': 1}, and so on",
        '{"weights": "gs://b/w" "metrics": {"mse": 0.2}}',
    ],
)
def test_text_that_is_no_json_was_not_cut(text: str) -> None:
    assert TerminationMessage.parse(text) is None
