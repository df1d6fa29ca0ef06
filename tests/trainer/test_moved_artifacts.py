"""A folder of artifacts is complete: it can be moved, copied, and read at its new place."""

import json
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_trainer.storage import open_store
from qtj_trainer.stored import artifacts
from qtj_trainer.stored.artifacts import Record, Result
from tests.trainer.processes import Trainer


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """What a training leaves, in a folder whose name needs quoting."""
    folder = tmp_path / "old place"
    store = open_store(str(folder))
    _, held_out = artifacts.store_object(store, "held-out", "npz", b"examples")
    name, weights = artifacts.store_object(store, "weights", "h5", b"weights")
    record = Record(
        workload="qcnn", options={}, fingerprint="f", weights_sha256=weights.sha256, held_out=held_out, metrics={},
        versions={}, image="", cluster={}, job="", attempt="",
    )  # fmt: skip
    record.store(store, name)
    stored = contract.Weights(uri=weights.uri, sha256=weights.sha256)
    Result(job_uid="uid-1", weights=stored, metrics={}).store(store)
    return folder


def read_all(folder: Path) -> tuple[bytes, bytes]:
    """Returns the weights and the examples, as inference finds them."""
    result = Result.latest(open_store(str(folder)))
    record = Record.of_weights(result.weights.uri)
    weights = artifacts.Address(result.weights.uri, result.weights.sha256)
    return artifacts.read_verified(weights), artifacts.read_verified(record.held_out)


def test_artifacts_are_found_where_they_were_moved(left: Path) -> None:
    moved = left.rename(left.with_name("new place"))

    assert read_all(moved) == (b"weights", b"examples")


def test_the_operator_gets_an_absolute_address(left: Path) -> None:
    moved = left.rename(left.with_name("new"))

    weights = Result.latest(open_store(str(moved))).message().weights

    assert weights is not None
    assert weights.uri.startswith(f"{moved.as_uri()}/weights/")


def test_no_file_names_the_folder_it_is_in(left: Path) -> None:
    texts = [path.read_text() for path in left.rglob("*.json")]

    assert len(texts) == 2
    assert not [text for text in texts if "old" in text or "://" in text]


def test_files_of_earlier_versions_are_read(left: Path) -> None:
    for path in left.rglob("*.json"):
        fields = json.loads(path.read_text())
        place = fields["weights"] if path.name == "result.json" else fields["heldOut"]
        place["uri"] = f"{left.as_uri()}/{place['uri']}"
        path.write_text(json.dumps(fields))

    assert read_all(left) == (b"weights", b"examples")


def test_a_record_is_read_beside_weights_that_are_named_by_a_path(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(left / "weights")
    [weights] = Path().glob("*.h5")

    assert artifacts.read_verified(Record.of_weights(str(weights)).held_out) == b"examples"


def test_inference_evaluates_artifacts_that_were_moved(trainer: Trainer, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    trained = trainer.run("train", "qcnn", "--qubits=4", "--rounds=2", "--epochs=1", "--artifacts", str(old))
    old.rename(new)

    inferred = trainer.run("infer", "--artifacts", str(new))

    assert inferred.code == 0, inferred.errors
    assert inferred.metrics["mse"] == pytest.approx(trained.metrics["mse"], abs=1e-5)
    assert not old.exists()
