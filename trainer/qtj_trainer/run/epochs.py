"""The earlier name of `qtj_trainer.program.epochs`, for programs that name its type."""

from qtj_trainer.program.epochs import RunningEpoch

__all__ = ["RunningEpoch"]
