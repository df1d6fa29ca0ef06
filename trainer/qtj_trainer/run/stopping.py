"""Early stopping: which epoch is the best, and when to wait no longer for a better one.

All processes come to the same decision, for the loss on the held-out set is a sum over all replicas, the same in each.
Both follow from the position, which a checkpoint holds. As in Keras' `EarlyStopping`, a loss that is lower by no more
than `min_delta` is no better.
"""

from math import inf

from qtj_trainer.run.position import Epoch, Position
from qtj_trainer.workloads.options import Options

__all__ = ["best_of", "has_stopped"]


def best_of(best: Epoch | None, finished: Epoch, options: Options) -> Epoch | None:
    """Returns the best epoch, the one that has just finished included; None where nobody asks for it."""
    if not options.patience:
        return None
    return finished if best is None or _loss(finished) < _loss(best) - options.min_delta else best


def has_stopped(position: Position, options: Options) -> bool:
    """Tells whether training ends at this position, before its last epoch."""
    if not options.patience or position.best is None or not position.ends_epoch:
        return False
    return position.epochs - position.best.number >= options.patience


def _loss(epoch: Epoch) -> float:
    return inf if epoch.validation_loss is None else epoch.validation_loss
