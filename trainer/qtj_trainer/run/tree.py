"""The earlier name of `qtj_trainer.arrays.tree`, for programs that name its type."""

from qtj_trainer.arrays.tree import State

__all__ = ["State"]
