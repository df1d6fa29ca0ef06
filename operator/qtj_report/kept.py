"""Whose weights are stored, where a training has ended before its last epoch."""

import math

from qtj_report.content import Content

__all__ = ["kept_weights"]


def kept_weights(found: Content) -> str:
    """Returns a sentence about the epoch whose weights are stored; empty if it is the last one that was asked for.

    Early stopping without the weights of the best epoch, as it is the default of Keras, stores those of its last one.
    """
    stopped = found.done < (found.asked or 0)
    if found.kept_epoch:
        return f"{'stopped early; ' if stopped else ''}the weights are those of epoch {found.kept_epoch}"
    known = [(each.validation_loss, each.number) for each in found.epochs if _is_finite(each.validation_loss)]
    lowest = min(known)[1] if known else found.done
    if not stopped or found.phase != "Complete" or lowest >= found.done:
        return ""
    return (
        f"stopped early; the weights are those of epoch {found.done}, the last one, and not of epoch {lowest}, whose "
        "held-out loss is the lowest"
    )


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
