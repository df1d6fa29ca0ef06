"""The folder of a job that has ended, as `qtj run` leaves it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qtj_contract import Progress
from qtj_contract.predictions import Predictions
from qtj_contract.progress_log import progress_line
from tests.cli.qtj import qtj

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
SHA256 = "ab" * 32
COMPLETE = {
    "type": "Complete", "status": "True", "reason": "InferenceDone", "message": "inference is done: mse 0.5",
    "observedGeneration": 1, "lastTransitionTime": "2026-11-23T12:00:00Z",
}  # fmt: skip


class Left:
    """The folder of a job that has ended, as `qtj run` leaves it."""

    def __init__(self, folder: Path, number: int = 1) -> None:
        self.place = folder / f"qtj-artifacts/own/{number}"
        (self.place / "weights").mkdir(parents=True)
        (self.place / ".qtj-run").touch()
        self.status: dict[str, Any] = {"phase": "Complete", "conditions": [COMPLETE], "attempt": 1}

    def epochs(self, *losses: float | None, attempt: int = 1, first: int = 1, **more: Any) -> None:
        with (self.place / "progress.jsonl").open("a") as log:
            for number, loss in enumerate(losses, start=first):
                log.write(progress_line(Progress(epoch=number, loss=loss, **more), attempt, NOON))

    def predictions(self, found: Predictions | str) -> None:
        self.weights((self.place / "weights/1f3c.h5").as_uri())
        text = found if isinstance(found, str) else found.to_json()
        (self.place / "weights/1f3c.predictions.json").write_text(text)

    def weights(self, uri: str) -> None:
        self.status["weights"] = {"uri": uri, "sha256": SHA256}

    def inference(self, **metrics: float) -> None:
        self.status["inference"] = {"phase": "Complete", "run": "1", "metrics": metrics}

    def record(self, status: object) -> None:
        meta = {"name": "own", "namespace": "default", "uid": "uid-1"}
        record = {"kind": "QuantumTrainingJob", "metadata": meta, "spec": {}, "status": status}
        (self.place / "job.json").write_text(json.dumps(record))

    def report(self) -> list[str]:
        self.record(self.status)
        answer = qtj("report", "own")
        assert answer.code == 0, answer.errors
        return answer.output.splitlines()

    @property
    def page(self) -> Path:
        return self.place / "report.html"

    @property
    def picture(self) -> Path:
        return self.place / "report.svg"
