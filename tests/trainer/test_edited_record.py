"""A record that somebody has edited: inference refuses it in one sentence."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.run.infer import infer
from qtj_trainer.stored.artifacts import Record, arrays_to_bytes
from qtj_trainer.workloads.qcnn import QcnnOptions

RECORD: dict[str, Any] = {
    "workload": "qcnn", "options": {}, "fingerprint": "f", "weightsSha256": "1f", "metrics": {}, "versions": {},
    "image": "", "cluster": {}, "job": "", "attempt": "", "heldOut": {"uri": "gs://b/held-out/1.npz", "sha256": "2e"},
}  # fmt: skip
OPTIONS: dict[str, Any] = {
    "epochs": 25, "batch_size": 16, "learning_rate": 1, "optimizer": "adam", "devices": 0, "checkpoint_every": 1,
    "checkpoint_steps": 0, "seed": 0, "model": "pure", "qubits": 8, "filters": 1, "rounds": 20, "engine": "tfq",
    "data": "", "data_sha256": "",
}  # fmt: skip


def refusal(folder: Path, text: str) -> str:
    """Returns the error of inference for weights with a record of this text."""
    (folder / "1.json").write_text(text)
    with pytest.raises(UserError) as refused:
        infer(str(folder / "1.h5"), None, str(folder), {})
    return str(refused.value)


@pytest.mark.parametrize("name", list(RECORD))
@pytest.mark.parametrize("value", [7, None, ["a"]])
def test_a_field_of_another_type_is_one_sentence(tmp_path: Path, name: str, value: object) -> None:
    sentence = refusal(tmp_path, json.dumps(RECORD | {name: value}))

    assert sentence == f"{tmp_path}/1.json is not a record of this version of the trainer: train again"


@pytest.mark.parametrize("name", list(RECORD))
def test_a_missing_field_is_one_sentence(tmp_path: Path, name: str) -> None:
    left = {each: value for each, value in RECORD.items() if each != name}

    assert "1.json is not a record" in refusal(tmp_path, json.dumps(left))


@pytest.mark.parametrize("text", ["", "7", "{", '{"heldOut": {"uri": "gs://b/1", "sha256": 1}}', "\x00"])
def test_what_is_no_record_at_all_is_one_sentence(tmp_path: Path, text: str) -> None:
    assert "1.json is not a record" in refusal(tmp_path, text)


def test_a_record_as_it_was_stored_is_taken(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps(RECORD))

    assert Record.of_weights(str(tmp_path / "1.h5")).held_out.sha256 == "2e"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("qubits", "8"), ("qubits", 8.5), ("qubits", True), ("learning_rate", "fast"), ("engine", "abacus"),
        ("model", None), ("optimizer", 3), ("seed", [0]), ("epochs", {}),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_is_named(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"the option {name} with the invalid value .*: restore it or train again"):
        QcnnOptions.from_record(OPTIONS | {name: value})


def test_options_come_back_as_they_were() -> None:
    options = QcnnOptions.from_record(OPTIONS)

    assert (options.learning_rate, options.qubits, options.model, options.engine) == (1.0, 8, "pure", "tfq")


def test_options_that_were_changed_to_those_of_another_model_are_refused_before_tensorflow(tmp_path: Path) -> None:
    held_out = arrays_to_bytes({"theta": np.zeros(1)})
    for name, data in (("1.h5", b"weights"), ("1.npz", held_out)):
        (tmp_path / name).write_bytes(data)
    examples = {"uri": (tmp_path / "1.npz").as_uri(), "sha256": hashlib.sha256(held_out).hexdigest()}
    edited = {"options": OPTIONS | {"qubits": 6}, "heldOut": examples}

    message = refusal(tmp_path, json.dumps(RECORD | edited | {"weightsSha256": hashlib.sha256(b"weights").hexdigest()}))

    assert "the record was changed since, or is of another version" in message
