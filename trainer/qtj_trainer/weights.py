"""Weights of a Keras model as bytes."""

import tempfile
from pathlib import Path

import tf_keras

from qtj_trainer.errors import UserError

__all__ = ["dump_weights", "load_weights"]


def dump_weights(model: tf_keras.Model) -> bytes:
    """Encodes the weights as HDF5; equal weights give equal bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.h5")  # Keras writes HDF5 to named files only
        model.save_weights(path)
        return path.read_bytes()


def load_weights(model: tf_keras.Model, data: bytes, *, otherwise: str) -> None:
    """Puts encoded weights into a model of the same structure.

    Args:
        model: The model.
        data: What `dump_weights` returned, or Keras wrote as HDF5.
        otherwise: What to say when they are of another structure, as the first half of a sentence.

    Raises:
        UserError: If they are of another structure.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.h5")
        path.write_bytes(data)
        try:
            model.load_weights(path)
        except (OSError, ValueError) as problem:
            raise UserError(f"{otherwise}: {problem}") from problem
