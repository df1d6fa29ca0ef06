"""The result of a finished training: for the operator, and in its folder, also after that was moved."""

import json
from pathlib import Path

import qtj_contract as contract
from qtj_trainer.storage import open_store
from qtj_trainer.stored.artifacts import Address, Record, Result

SHA256 = "1f" * 32
PROGRESS = contract.Progress(epoch=25, epochs=25, step=175, loss=0.25)


def result(folder: Path, last_weights: contract.Weights | None = None) -> Result:
    weights = contract.Weights(uri=f"{folder.as_uri()}/weights/1.h5", sha256=SHA256)
    return Result(
        job_uid="uid-1",
        weights=weights,
        metrics={"mse": 0.5},
        progress=PROGRESS,
        epoch=20,
        last_weights=last_weights,
    )


def record(folder: Path) -> Record:
    return Record(
        workload="qcnn", options={"seed": 0}, fingerprint="f", weights_sha256=SHA256,
        held_out=Address(f"{folder.as_uri()}/held-out/2.npz", SHA256), metrics={"mse": 0.5}, versions={}, image="",
        cluster={}, job="toy", attempt="1", epoch=20,
    )  # fmt: skip


def test_the_operator_gets_weights_metrics_and_progress(tmp_path: Path) -> None:
    message = result(tmp_path).message()

    assert message.weights == contract.Weights(uri=f"{tmp_path.as_uri()}/weights/1.h5", sha256=SHA256)
    assert (message.metrics, message.progress, message.error) == ({"mse": 0.5}, PROGRESS, None)


def test_a_result_names_its_weights_relative_to_its_folder(tmp_path: Path) -> None:
    last = contract.Weights(uri=f"{tmp_path.as_uri()}/weights/9.h5", sha256=SHA256)
    result(tmp_path, last_weights=last).store(open_store(str(tmp_path)))

    fields = json.loads((tmp_path / "result.json").read_text())

    assert fields["weights"] == {"uri": "weights/1.h5", "sha256": SHA256}
    assert fields["lastWeights"] == {"uri": "weights/9.h5", "sha256": SHA256}
    assert (fields["jobUid"], fields["metrics"], fields["epoch"]) == ("uid-1", {"mse": 0.5}, 20)


def test_a_folder_that_was_moved_has_the_new_addresses(tmp_path: Path) -> None:
    before, now = tmp_path / "before", tmp_path / "now"
    store = open_store(str(before))
    result(before).store(store)
    record(before).store(store, "weights/1.h5")
    assert json.loads((before / "weights/1.json").read_text())["heldOut"]["uri"] == "held-out/2.npz"

    before.rename(now)

    assert Result.latest(open_store(str(now))) == result(now)
    assert Record.of_weights(f"{now.as_uri()}/weights/1.h5") == record(now)


def test_addresses_in_a_bucket_stay_what_they_are(tmp_path: Path) -> None:
    elsewhere = contract.Weights(uri="gs://bucket/weights/1.h5", sha256=SHA256)
    Result(job_uid="uid-1", weights=elsewhere, metrics={}).store(open_store(str(tmp_path)))

    assert Result.latest(open_store(str(tmp_path))).weights == elsewhere
