"""Loads what a run has trained, to predict on new data."""

from contextlib import closing
from typing import Any

from qtj_trainer.errors import UserError
from qtj_trainer.program.array_state import STRUCTURE, ArrayState
from qtj_trainer.program.keras_model import KerasModel, is_keras_model
from qtj_trainer.storage import MissingObjectError, open_store
from qtj_trainer.stored.artifacts import Address, Record, Result, arrays_from_bytes, read_verified
from qtj_trainer.workloads import WORKLOADS

__all__ = ["load"]


def load(run: str, model: Any = None) -> Any:
    """Loads the weights that a run has trained.

    Args:
        run: Where the run has stored its artifacts: its folder, such as "qtj-artifacts/qcnn/1", or gs://BUCKET/PATH.
        model: For a program of your own: a Keras model, or arrays, like those that it gave to `program.finish`.

    Returns:
        The model, or the arrays, with the trained weights. Without `model`: the Keras model of a workload of the
        trainer, such as `qcnn`, or the arrays of a loop by name.

    Raises:
        UserError: There is no result, its weights were changed, they do not fit, or the model is needed and not given.
        TryAgainError: The store does not answer.
    """
    with closing(open_store(run)) as store:
        weights = Result.latest(store).weights
    data = read_verified(Address(weights.uri, weights.sha256))
    otherwise = f"the weights {weights.uri} do not fit"
    if model is not None:
        adapter = KerasModel(model) if is_keras_model(model) else ArrayState(model)
        return adapter.load(data, otherwise=otherwise)
    if weights.uri.endswith(f".{ArrayState.suffix}"):
        return {name: array for name, array in arrays_from_bytes(data).items() if name != STRUCTURE}
    built = _model_of_workload(weights.uri, run)
    return KerasModel(built).load(data, otherwise=otherwise)


def _model_of_workload(uri: str, run: str) -> Any:
    try:
        record = Record.of_weights(uri)
        workload = WORKLOADS[record.workload]
    except (MissingObjectError, KeyError):
        raise UserError(
            f"the weights in {run} are of a Keras model of your own: create it as your program does, and give it to"
            " load(run, model)"
        ) from None
    return workload.model(workload.options.from_record(record.options))
