"""Optimizers of the interface that Keras 2 had before version 2.11, `tf.keras.optimizers.legacy`."""

from typing import Any

from qtj_trainer.errors import UserError

__all__ = ["check_optimizer"]


def check_optimizer(optimizer: Any) -> None:
    """Checks that an optimizer can create its variables before the first step.

    Raises:
        UserError: If it has the earlier interface.
    """
    if not hasattr(optimizer, "build"):
        kind = type(optimizer)
        raise UserError(
            f"{kind.__name__} of {kind.__module__} is an optimizer of an earlier interface: use"
            f" tf_keras.optimizers.{kind.__name__}"
        )
