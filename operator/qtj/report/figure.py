"""The report as a picture: panels for loss, accuracy and predictions, each only if there are data for it."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from qtj_contract.predictions import Predictions
from qtj_contract.progress_log import EpochRecord
from qtj_report.content import Content
from qtj_report.scores import LISTED_CLASSES, confusion, drawable_pairs, errors_of, finite_pairs, is_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["has_picture", "report_figure"]


def has_picture(found: Content) -> bool:
    """Returns whether there are data to draw."""
    return _has_curve(found.epochs) or _has_accuracy(found.epochs) or bool(drawable_pairs(found.predictions))


def report_figure(found: Content) -> "Figure":
    """Draws the panels that have data; see `has_picture`.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  optional, and a second to import

    predictions = found.predictions if drawable_pairs(found.predictions) else None
    panels = sum((_has_curve(found.epochs), _has_accuracy(found.epochs), predictions is not None))
    figure = Figure(figsize=(5.5 * panels, 4.5), layout="constrained")
    figure.suptitle(f"{found.title} ({found.phase})")
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    if _has_curve(found.epochs):
        _draw_loss(axes[0], found.epochs)
    if _has_accuracy(found.epochs):
        _draw_accuracy(axes[panels - 1 - int(predictions is not None)], found.epochs)
    if predictions and predictions.classes:
        _draw_classes(axes[-1], predictions)
    elif predictions:
        _draw_regression(axes[-1], drawable_pairs(predictions))
    return figure


def _has_curve(epochs: Sequence[EpochRecord]) -> bool:
    return any(is_drawable(each.loss) for each in epochs)


def _has_accuracy(epochs: Sequence[EpochRecord]) -> bool:
    return any(is_drawable(each.accuracy) or is_drawable(each.training_accuracy) for each in epochs)


def _drawable(values: Sequence[float | None]) -> list[float]:
    return [value if is_drawable(value) else math.nan for value in values]


def _draw_loss(axes: "Axes", epochs: Sequence[EpochRecord]) -> None:
    _draw_curves(axes, "loss", epochs, [each.loss for each in epochs], [each.validation_loss for each in epochs])


def _draw_accuracy(axes: "Axes", epochs: Sequence[EpochRecord]) -> None:
    training, held_out = [each.training_accuracy for each in epochs], [each.accuracy for each in epochs]
    _draw_curves(axes, "accuracy", epochs, training, held_out)


def _draw_curves(
    axes: "Axes",
    name: str,
    epochs: Sequence[EpochRecord],
    training: Sequence[float | None],
    held_out: Sequence[float | None],
) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    numbers = [each.number for each in epochs]
    for values, label in ((_drawable(training), "training set"), (_drawable(held_out), "held-out set")):
        if not all(map(math.isnan, values)):
            axes.plot(numbers, values, marker=".", label=label)
    axes.set(xlabel="epoch", ylabel=name, title=name.capitalize(), xlim=(numbers[0] - 0.5, numbers[-1] + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    for before, after in pairwise(epochs):
        if after.attempt != before.attempt:
            axes.axvline(after.number - 0.5, color="gray", linestyle=":", label=f"attempt {after.attempt}")
    if len(axes.lines) > 1 or name == "accuracy":  # a single curve is that of the training loss
        axes.legend()


def _draw_classes(axes: "Axes", predictions: Predictions) -> None:
    pairs = finite_pairs(predictions)
    right = sum(label == predicted for label, predicted in pairs)
    title = f"Held-out examples: {right} of {len(predictions.labels)} right"
    axes.set(xlabel="prediction", ylabel="label", title=title)
    if len(predictions.classes) > LISTED_CLASSES:
        labels, predicted = zip(*pairs, strict=True)
        axes.plot(predicted, labels, ".", alpha=0.6)
    else:
        _draw_confusion(axes, predictions)


def _draw_confusion(axes: "Axes", predictions: Predictions) -> None:
    counts = confusion(predictions)
    names = [name.replace("$", r"\$") for name in predictions.classes]  # else the beginning of a formula
    axes.imshow(counts, cmap="Blues")
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    darkest = max(map(max, counts))
    for y, row in enumerate(counts):
        for x, count in enumerate(row):
            axes.text(x, y, str(count), ha="center", va="center", color="white" if count > darkest / 2 else "black")


def _draw_regression(axes: "Axes", pairs: Sequence[tuple[float, float]]) -> None:
    labels, predicted = zip(*pairs, strict=True)
    axes.plot(labels, predicted, ".", alpha=0.6, label="held-out examples")
    ends = (min(labels), max(labels))
    axes.plot(ends, ends, color="gray", linestyle=":", label="exact")
    title = f"Root mean square error {errors_of(pairs).root_mean_square:.4g}"
    axes.set(xlabel="label", ylabel="prediction", title=title)
    axes.legend()
