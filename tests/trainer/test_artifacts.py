"""Results and records, and who believes them."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qtj_contract as contract
from qtj_trainer.errors import UserError
from qtj_trainer.replica.termination import write_message
from qtj_trainer.storage import Store
from qtj_trainer.stored import artifacts
from qtj_trainer.stored.artifacts import Address, Record, Result

WEIGHTS = contract.Weights(uri="gs://b/weights/1.h5", sha256="1f" * 32)


def result_of(job_uid: str) -> Result:
    progress = contract.Progress(epoch=25, epochs=25, step=175, loss=0.2)
    return Result(job_uid=job_uid, weights=WEIGHTS, metrics={"mse": 0.2}, progress=progress)


def test_a_job_finds_its_own_result(store: Store) -> None:
    result_of("uid-1").store(store)

    assert Result.of_job(store, "uid-1") == result_of("uid-1")


def test_a_job_that_is_run_again_reports_the_same_result(store: Store) -> None:
    result_of("uid-1").store(store)

    again = Result.of_job(store, "uid-1")

    assert again is not None
    assert again.message() == result_of("uid-1").message()
    assert again.message().progress == contract.Progress(epoch=25, epochs=25, step=175, loss=0.2)


def test_another_job_does_not_take_it_for_its_own(store: Store) -> None:
    result_of("uid-1").store(store)

    assert Result.of_job(store, "uid-2") is None


def test_runs_outside_of_a_job_have_no_identity(store: Store) -> None:
    result_of("").store(store)

    assert Result.of_job(store, "") is None
    assert Result.latest(store) == result_of("")


def test_before_any_training_there_is_no_result(store: Store) -> None:
    assert Result.of_job(store, "uid-1") is None


def test_a_garbled_result_is_named(store: Store) -> None:
    store.write("result.json", b"{}")

    with pytest.raises(UserError, match=r"result\.json is not the result of a training: delete it"):
        Result.latest(store)


def test_a_record_is_found_beside_its_weights(store: Store) -> None:
    name, weights = artifacts.store_object(store, "weights", "h5", b"weights")
    record = Record(
        workload="qcnn",
        options={"epochs": 25},
        fingerprint="f",
        weights_sha256=weights.sha256,
        held_out=Address("gs://b/held-out/1.npz", "2e"),
        metrics={"mse": 0.2},
        versions={"python": "3.11"},
        image="registry.example/trainer:1",
        cluster={"worker": ["a:1"]},
        job="team/qcnn",
        attempt="1",
    )

    record.store(store, name)

    assert Record.of_weights(weights.uri) == record


def test_a_garbled_record_is_named(store: Store) -> None:
    store.write("weights/1.json", b"[]")

    with pytest.raises(UserError, match=r"1\.json is not a record"):
        Record.of_weights(store.uri("weights/1.h5"))


def test_an_object_is_named_by_its_digest(store: Store) -> None:
    name, address = artifacts.store_object(store, "weights", "h5", b"weights")

    assert name == f"weights/{address.sha256[:12]}.h5"
    assert artifacts.read_verified(address) == b"weights"


def test_changed_bytes_are_noticed(store: Store) -> None:
    name, address = artifacts.store_object(store, "weights", "h5", b"weights")
    store.write(name, b"tampered")

    with pytest.raises(UserError, match="was changed since"):
        artifacts.read_verified(address)


def test_equal_columns_have_equal_bytes() -> None:
    columns = {"theta": np.arange(3.0), "label": np.ones(3)}

    data = artifacts.arrays_to_bytes(columns)

    assert data == artifacts.arrays_to_bytes(dict(columns))
    np.testing.assert_array_equal(artifacts.arrays_from_bytes(data)["theta"], columns["theta"])


def test_the_termination_message_is_written_where_the_operator_reads_it(tmp_path: Path) -> None:
    log = tmp_path / "log"

    write_message({"QTJ_TERMINATION_LOG": str(log)}, result_of("uid-1").message())

    assert contract.TerminationMessage.parse(log.read_text()) == result_of("uid-1").message()


def test_a_termination_message_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    write_message({"QTJ_TERMINATION_LOG": str(tmp_path)}, contract.TerminationMessage(error="no"))


@pytest.mark.parametrize("name", ["file", "allow_pickle", "self", "args", "arr_0", "a/b", "a.npy"])
def test_a_column_may_have_any_name(name: str) -> None:
    back = artifacts.arrays_from_bytes(artifacts.arrays_to_bytes({name: np.arange(2), "other": np.ones(1)}))

    assert {each: values.tolist() for each, values in back.items()} == {name: [0, 1], "other": [1]}


def test_columns_have_the_bytes_that_numpy_gives_them() -> None:
    columns: dict[str, Any] = {
        "w": np.arange(6.0).reshape(2, 3).T,
        "layers/0/b": np.float32(1),
        "text": np.array("é"),
        "0": np.ones(0),
    }
    file = io.BytesIO()
    np.savez(file, **columns)

    assert artifacts.arrays_to_bytes(columns) == file.getvalue()


def test_objects_are_not_pickled() -> None:
    with pytest.raises(ValueError, match="allow_pickle=False"):
        artifacts.arrays_to_bytes({"w": np.array([None])})
