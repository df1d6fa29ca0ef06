"""Converts the weights of a Keras model to bytes and back."""

import tempfile
from pathlib import Path
from typing import Any

import tf_keras

from qtj_trainer.errors import UserError

__all__ = ["dump_weights", "is_of_keras_2", "load_weights"]


def is_of_keras_2(model: object) -> bool:
    """Returns whether a model is of `tf_keras`, which is Keras 2, and not of `keras`, which is Keras 3."""
    return isinstance(model, tf_keras.Model)


def dump_weights(model: Any) -> bytes:
    """Encodes the weights as HDF5, in the layout of the model's Keras; equal weights give equal bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, _file_name(model))  # Keras writes HDF5 to named files only
        model.save_weights(path)
        return path.read_bytes()


def load_weights(model: Any, data: bytes, *, otherwise: str) -> None:
    """Loads encoded weights into a model of the same structure.

    Args:
        model: The model.
        data: What `dump_weights` returned, or an HDF5 file of Keras.
        otherwise: First half of the error message, for weights of another structure.

    Raises:
        UserError: If the weights have another structure.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, _file_name(model))
        path.write_bytes(data)
        try:
            model.load_weights(path)
        except (OSError, ValueError, KeyError) as problem:
            raise UserError(f"{otherwise}: {problem}") from problem


def _file_name(model: object) -> str:
    """Returns a file name for the model's Keras: Keras 3 requires this suffix, Keras 2 uses it for another layout."""
    return "weights.h5" if is_of_keras_2(model) else "model.weights.h5"
