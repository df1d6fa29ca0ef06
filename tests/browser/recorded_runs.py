"""Recorded runs whose reports are hard to show: many attempts, long names, wide tables and drawings."""

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

from qtj_contract.predictions import Predictions
from tests.cli.left import Left
from tests.cli.qtj import qtj

__all__ = ["comparison_page", "hard_page", "long_numbers_page", "preempted_page", "regression_page"]

_START = datetime(2026, 11, 23, 12, tzinfo=UTC)
_CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
_EPOCHS = 40
_LONG = "file:///home/researcher/projects/barren-plateaus/2026-11/qtj-artifacts/own/1/weights/1f3c5b0ccb88025.h5"
_OPTIONS = {
    "batch_size": 16, "data": "/home/researcher/projects/barren-plateaus/data/measurements-2026-11-23.npz",
    "data_sha256": "20b0ccb8802574271d996fa22f8dc2c49da48e2f1f5033c17a6081c9b9ff1ccd", "engine": "fused",
    "learning_rate": 0.02, "optimizer": "adam", "qubits": 20, "schedule": "constant", "seed": 0, "shuffle": True,
}  # fmt: skip
_VERSIONS = {"cirq-core": "1.5.0", "numpy": "2.0.2", "python": "3.11.7", "tensorflow": "2.18.1"}


def hard_page(folder: Path) -> Path:
    """Writes the page of a run that failed after three attempts; returns where."""
    left = Left(folder)
    _train(left, _EPOCHS, attempts=3)
    left.predictions(_confused())
    left.inference(meanSquaredError=0.1615, sparseCategoricalAccuracyOfTheTenClasses=0.9792)
    _record(left, _OPTIONS)
    _attempts(left)
    return _page(left)


def regression_page(folder: Path) -> Path:
    """Writes the page of a regression; returns where."""
    left = Left(folder)
    _train(left, 3)
    labels = [index / 50 - 1 for index in range(100)]
    guesses = [label + 0.2 * math.sin(9 * label) for label in labels]
    left.predictions(Predictions(labels=labels, predictions=guesses, examples=100))
    _record(left, {"learning_rate": 0.1})
    return _page(left)


def long_numbers_page(folder: Path) -> Path:
    """Writes the page of a run whose numbers are long, with accuracies that differ in the fifth digit."""
    left = Left(folder)
    for number in range(1, 11):
        accuracy, speed = 0.99125 + 0.00003 * number, 24180.0 + number
        left.epochs(24180.7 - 3 * number, first=number, epochs=10, accuracy=accuracy, examples_per_second=speed)
    left.status["progress"] = {"epoch": 10, "epochs": 10}
    _record(left, _OPTIONS)
    return _page(left)


def preempted_page(folder: Path) -> Path:
    """Writes the page of a run with an attempt for almost every epoch; returns where."""
    left = Left(folder)
    _train(left, 25, attempts=20)
    _record(left, _OPTIONS)
    return _page(left)


def comparison_page(folder: Path) -> Path:
    """Writes the page that compares eight runs; returns where."""
    for number in range(1, 9):
        left = Left(folder, number)
        _train(left, _EPOCHS, shift=number)
        left.inference(mse=0.1 * number, signAccuracy=1 - 0.05 * number)
        left.weights((left.place / "weights/1f3c.h5").as_uri())
        _record(left, {**_OPTIONS, "learning_rate": 0.01 * number, "seed": number})
        left.record(left.status)
    page = folder / "comparison.html"
    _write(page, *(f"own/{number}" for number in range(1, 9)))
    return page


def _train(left: Left, epochs: int, *, attempts: int = 1, shift: int = 0) -> None:
    for number in range(1, epochs + 1):
        loss = 0.1 + 0.8 * math.exp(-number / (8 + shift)) + 0.02 * math.sin(number + shift)
        more = {"validation_loss": loss + 0.05, "accuracy": 1 - loss / 2, "training_accuracy": 1 - loss / 3}
        speed = {"examples_per_second": 280.0 + number, "devices": 4}
        left.epochs(loss, first=number, attempt=1 + attempts * (number - 1) // epochs, epochs=epochs, **more, **speed)
    left.status["progress"] = {"epoch": epochs, "epochs": epochs}


def _confused() -> Predictions:
    labels = [index % 10 for index in range(500)]
    guesses: list[float | None] = [(label + (index % 7 == 0)) % 10 for index, label in enumerate(labels)]
    return Predictions(classes=_CLASSES, labels=labels, predictions=guesses, examples=500)


def _record(left: Left, options: dict[str, object]) -> None:
    parts = {"workload": "qcnn", "options": options, "versions": _VERSIONS, "image": "localhost/qtj-trainer:0.2.0"}
    files = {"circuits": {"expectation": ["weights/1f3c.expectation.cirq.json", "weights/1f3c.expectation.qasm"]}}
    (left.place / "weights/1f3c.json").write_text(json.dumps(parts | files))
    wires = "".join(f"{qubit:<16}" for qubit in range(20))
    gates = "".join(f"{f'Rx(turn{qubit})':<16}" for qubit in range(20))
    lines = "│               " * 20
    (left.place / "weights/1f3c.txt").write_text("\n".join([wires, *[lines, gates] * 30, lines]))


def _attempts(left: Left) -> None:
    left.status |= {"phase": "Failed", "attempt": 3, "conditions": [{
        "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "observedGeneration": 1,
        "message": "own-worker-1 ended (exit code 143, reason Evicted: the node was low on resource memory), and the "
        "backoff limit of 2 restarts is reached",
        "lastTransitionTime": "2026-11-23T12:30:00Z",
    }]}  # fmt: skip
    left.status |= {"startTime": f"{_START:%Y-%m-%dT%H:%M:%SZ}", "completionTime": "2026-11-23T12:30:00Z"}
    left.status["replicas"] = {
        role: {"desired": count, "ready": 0, "succeeded": 0, "failed": count}
        for role, count in (("Chief", 1), ("ParameterServer", 2), ("Worker", 4))
    }
    left.status["failures"] = [
        {
            "pod": f"own-worker-{number}", "attempt": number, "exitCode": 143, "reason": "Evicted", "uid": str(number),
            "time": "2026-11-23T12:10:00Z", "message": f"OSError: {_LONG} cannot be written: no space left on device",
        }
        for number in (1, 2, 3)
    ]  # fmt: skip
    (left.place / "events.jsonl").write_text("".join(_events()))
    activities = (("loading TensorFlow", 20), ("connecting", 60), ("preparing", 90), ("compiling", 100), ("", 140))
    lines = [json.dumps({"time": _time(seconds), "activity": what}) for what, seconds in activities]
    (left.place / "activity.jsonl").write_text("\n".join(lines))


def _events() -> list[str]:
    moments = [
        (10, "AllReplicasReady", "4 of 4 replicas are ready"),
        (600, "Restarting", f"own-worker-1 ended (exit code 143): OSError: {_LONG} cannot be written"),
        (620, "AllReplicasReady", "4 of 4 replicas are ready"),
        (1200, "Restarting", "own-worker-2 was evicted (node memory pressure); the gang restarts as attempt 3"),
        (1220, "AllReplicasReady", "4 of 4 replicas are ready"),
        (1800, "BackoffLimitExceeded", "own-worker-3 ended (exit code 143), and the backoff limit is reached"),
    ]
    event = {"involvedObject": {"kind": "QuantumTrainingJob", "name": "own", "uid": "uid-1"}, "type": "Normal"}
    return [
        json.dumps({**event, "reason": reason, "message": message, "firstTimestamp": _time(seconds)}) + "\n"
        for seconds, reason, message in moments
    ]


def _time(seconds: int) -> str:
    return f"{_START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def _page(left: Left) -> Path:
    left.record(left.status)
    _write(left.page, "own")
    return left.page


def _write(page: Path, *runs: str) -> None:
    answer = qtj("report", *runs, "--html", str(page))
    assert answer.code == 0, answer.errors
