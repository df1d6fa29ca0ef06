"""Early stopping: which epoch is the best, and when training stops.

All processes make the same decision, because the loss on the held-out set is a sum over all replicas, the same in each.
The decision depends only on the position, which a checkpoint holds. As in Keras' `EarlyStopping`, a loss must be lower
by more than `min_delta` to be better.
"""

from math import inf

from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.workloads.options import Options

__all__ = ["best_of", "has_stopped"]


def best_of(best: Epoch | None, finished: Epoch, options: Options) -> Epoch | None:
    """Returns the best epoch so far, with the one that has just finished; None without early stopping."""
    if not options.patience:
        return None
    return finished if best is None or _loss(finished) < _loss(best) - options.min_delta else best


def has_stopped(position: Position, options: Options) -> bool:
    """Returns whether training stops at this position, before its last epoch."""
    if not options.patience or position.best is None or not position.ends_epoch:
        return False
    return position.epochs - position.best.number >= options.patience


def _loss(epoch: Epoch) -> float:
    return inf if epoch.validation_loss is None else epoch.validation_loss
