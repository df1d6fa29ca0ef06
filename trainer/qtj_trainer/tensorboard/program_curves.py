"""Curves of a program for TensorBoard, in the folders of those of a workload: see `board`.

A program may have no TensorFlow, and its import takes 7 seconds. So the files are written with TensorBoard's own
messages and record format, whose import takes 0.2 seconds.
"""

import io
import math
import os
import platform
import time
from collections.abc import Mapping
from typing import Any

from qtj_trainer.storage import Store
from qtj_trainer.stored.periodic_upload import PeriodicUpload
from qtj_trainer.stored.position import Epoch

__all__ = ["ProgramCurves"]

_HELD_OUT = "val_"
"""What Keras puts before the names of scores on the held-out set."""


class ProgramCurves:
    """Writes the curves of one attempt. Only the leader may use it. What cannot be stored never ends a training."""

    def __init__(self, store: Store, run: str, first_step: int) -> None:
        """Prepares the files of an attempt.

        Args:
            store: The artifacts.
            run: The name of the job in TensorBoard.
            first_step: The first step at which this attempt may draw. TensorBoard leaves out what earlier attempts have
                drawn from there on.
        """
        self._store = store
        self._folder = f"logs/{run}"
        self._name = f"events.out.tfevents.{int(time.time()):010d}.{platform.node()}.{os.getpid()}"
        self._first_step = first_step
        self._files: dict[str, io.BytesIO] = {}
        self._copies = PeriodicUpload(self._store_all, "the curves of the last epochs are not stored for TensorBoard")

    def show(self, epoch: Epoch) -> None:
        """Adds the numbers of an epoch, at its step."""
        curves: dict[str, dict[str, float]] = {"train": {"loss": epoch.loss}, "validation": {}}
        for name, score in epoch.scores.items():
            curves["validation" if name.startswith(_HELD_OUT) else "train"][name.removeprefix(_HELD_OUT)] = score
        for part, numbers in curves.items():
            known = {name: number for name, number in numbers.items() if math.isfinite(number)}
            if known:
                self._add(part, epoch.step, known)
        self._copies.grown()

    def flush(self) -> None:
        """Stores what was added."""
        self._copies.catch_up()

    def _store_all(self) -> None:
        for part, file in self._files.items():
            self._store.write(f"{self._folder}/{part}/{self._name}", file.getvalue())

    def _add(self, part: str, step: int, numbers: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary

        if part not in self._files:
            self._files[part] = io.BytesIO()
            self._write(part, file_version="brain.Event:2")
            self._write(part, step=self._first_step, session_log=SessionLog(status=SessionLog.START))
        values = [Summary.Value(tag=name, simple_value=number) for name, number in numbers.items()]
        self._write(part, step=step, summary=Summary(value=values))

    def _write(self, part: str, **content: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        RecordWriter(self._files[part]).write(Event(wall_time=time.time(), **content).SerializeToString())
