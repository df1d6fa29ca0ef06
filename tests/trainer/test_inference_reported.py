"""What an inference reports: a file that outlives its pod, and a message that fits what the kubelet keeps."""

import json
import logging
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_contract.inference_result import result_uri
from qtj_trainer.replica.termination import report_inference
from qtj_trainer.storage import open_store

METRICS = {f"classAccuracy{number:03}": number / 1000 for number in range(300)}


def inferred(folder: Path, weights: str, **environment: str) -> contract.TerminationMessage:
    """The message of an inference that has measured `METRICS`."""
    log = folder / "log"
    given = {"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1", "QTJ_TERMINATION_LOG": str(log), **environment}
    used = contract.Weights(uri=weights, sha256="ab" * 32)
    report_inference(given, open_store(folder.as_uri()), used, METRICS)
    message = contract.TerminationMessage.parse(log.read_text())
    assert message is not None
    return message


@pytest.mark.parametrize("containers", [1, 6, 32])
def test_all_metrics_are_beside_the_weights_and_the_message_fits(tmp_path: Path, containers: int) -> None:
    limit = contract.message_limit(containers)

    message = inferred(tmp_path, f"{tmp_path.as_uri()}/weights/1f3c.h5", QTJ_TERMINATION_LIMIT=str(limit))

    stored = tmp_path / "weights" / "1f3c.inference.json"
    assert json.loads(stored.read_text()) == {
        "job": "qcnn",
        "jobUid": "uid-1",
        "weightsSha256": "ab" * 32,
        "metrics": METRICS,
    }
    assert message.result == stored.as_uri() == result_uri(f"{tmp_path.as_uri()}/weights/1f3c.h5")
    assert (tmp_path / "log").stat().st_size <= limit
    assert 0 < len(message.metrics) < len(METRICS) or containers == 32


def test_an_inference_that_cannot_store_its_result_reports_it_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "weights").touch()

    with caplog.at_level(logging.WARNING, "qtj_trainer"):
        message = inferred(tmp_path, f"{tmp_path.as_uri()}/weights/1f3c.h5")

    assert message.result is None
    assert len(message.metrics) > 50
    assert any(line.startswith("the metrics are not stored: ") for line in caplog.messages)
