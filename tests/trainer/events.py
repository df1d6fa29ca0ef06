"""Reads event files as TensorBoard's server does."""

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.plugin_event_accumulator import TENSORS, EventAccumulator
from tensorboard.util import tensor_util

__all__ = ["counts", "read", "values"]


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={TENSORS: 0})
    events.Reload()
    return events


def values(events: EventAccumulator, name: str) -> list[tuple[int, Any]]:
    return [(each.step, tensor_util.make_ndarray(each.tensor_proto)) for each in events.Tensors(name)]


def counts(events: EventAccumulator, name: str) -> list[float]:
    """How many numbers each histogram has counted."""
    return [buckets[:, 2].sum() for _, buckets in values(events, name)]
