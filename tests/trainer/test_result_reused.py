"""When a job that has its result already trains again: what a spec only names may have changed since."""

from pathlib import Path
from typing import Any

import pytest

import qtj_contract as contract
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.run.training_run import Run
from qtj_trainer.storage import Store, open_store
from qtj_trainer.stored.artifacts import Result, store_object
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions


def result(store: Store, settings: str = "these") -> Result:
    _, weights = store_object(store, "weights", "h5", b"weights")
    stored = contract.Weights(uri=weights.uri, sha256=weights.sha256)
    made = Result(job_uid="spec-1", weights=stored, metrics={"mse": 0.5}, settings=settings)
    made.store(store)
    return made


def replica(folder: Path) -> Replica:
    environment: dict[str, str] = {contract.Env.JOB_UID: "spec-1", contract.Env.TERMINATION_LOG: str(folder / "log")}
    return Replica.join(environment, Stop(), str(folder))


@pytest.mark.parametrize(("stored", "given"), [("these", "these"), ("these", ""), ("", "these"), ("", "")])
def test_a_result_of_the_same_or_of_unknown_settings_is_used(tmp_path: Path, stored: str, given: str) -> None:
    made = result(open_store(str(tmp_path)), stored)

    assert replica(tmp_path).finished(given) == made
    assert replica(tmp_path).result_so_far(given) == made


def test_a_result_of_other_settings_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result(open_store(str(tmp_path)))

    assert replica(tmp_path).finished("others") is None
    assert replica(tmp_path).result_so_far("others") is None
    assert "trains again: its options or its data have changed" in caplog.text
    assert not (tmp_path / "log").exists()


def test_a_result_whose_weights_were_deleted_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = result(open_store(str(tmp_path)))
    Path(made.weights.uri.removeprefix("file://")).unlink()

    assert replica(tmp_path).finished("these") is None
    assert replica(tmp_path).result_so_far("these") is None
    assert f"trains again: {made.weights.uri} does not exist" in caplog.text


def test_weights_in_another_place_are_not_looked_for(tmp_path: Path) -> None:
    elsewhere = contract.Weights(uri="gs://other/weights/1.h5", sha256="1f" * 32)
    made = Result(job_uid="spec-1", weights=elsewhere, metrics={})
    made.store(open_store(str(tmp_path)))

    assert replica(tmp_path).finished() == made


def run(folder: Path, **options: Any) -> Run:
    return Run(Qcnn(), QcnnOptions(**options), replica(folder))


def data(path: Path, last: int) -> str:
    path.write_text("".join(f"0.1,0.2,0.3,{row},{(-1) ** row}\n" for row in range(7)) + f"1,1,1,1,{last}\n")
    return str(path)


def test_settings_are_those_that_decide_the_result(tmp_path: Path) -> None:
    before = run(tmp_path).settings

    assert run(tmp_path, checkpoint_every=5).settings == before
    assert run(tmp_path, epochs=3).settings != before
    assert run(tmp_path, learning_rate=0.1).settings != before


def test_the_content_of_the_data_is_a_setting_and_its_name_is_not(tmp_path: Path) -> None:
    files = {"before": 1, "same": 1, "changed": -1}
    before, same, changed = (
        run(tmp_path, qubits=4, data=data(tmp_path / f"{name}.csv", last)).known_settings()
        for name, last in files.items()
    )

    assert before == same
    assert changed not in {before, ""}


def test_without_its_data_a_job_that_has_trained_still_has_its_result(tmp_path: Path) -> None:
    assert run(tmp_path, qubits=4, data=str(tmp_path / "gone.csv")).known_settings() == ""
