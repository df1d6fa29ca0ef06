"""Curves as TensorFlow writes them, without TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def write_curve(folder: Path, name: str, values: Sequence[float]) -> None:
    """Writes one curve, a value for each step from 0, into an event file of this folder."""
    writer = EventFileWriter(str(folder))
    for step, value in enumerate(values):
        summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
        writer.add_event(Event(step=step, wall_time=float(step), summary=summary))
    writer.close()
