"""Curves and histograms of TensorBoard, made by NumPy. Nothing imports this before there is something to draw."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb

__all__ = ["curves", "histogram", "weight", "write"]


def curves(numbers: Mapping[str, float | None]) -> Iterator[Summary]:
    """Yields a point of each curve that has a number."""
    return (scalar_pb(name, number) for name, number in numbers.items() if number is not None)


def weight(name: str, values: NDArray[Any]) -> Summary:
    """Returns the histogram of weights, or a point of a curve for a single one."""
    return scalar_pb(name, values[0]) if values.size == 1 else histogram(name, values)


def histogram(name: str, values: NDArray[Any]) -> Summary:
    """Returns a histogram of values."""
    with np.errstate(all="ignore"):  # of numbers that are not finite, of which the log of the training tells
        return histogram_pb(name, values)


def write(*summaries: Summary) -> None:
    """Writes summaries as one event. TensorFlow takes 25 operations for a histogram, and a call for each curve."""
    together = Summary(value=[value for each in summaries for value in each.value])
    if together.value:
        tf.summary.experimental.write_raw_pb(together.SerializeToString())
