"""Curves of a program for TensorBoard, in the folders of those of a workload: see `event_files`.

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
from qtj_trainer.tracking.content import described

__all__ = ["ProgramCurves"]

_RUN = ""
"""The folder of the run itself, in which TensorBoard looks for its parameters."""

_MOST_EXACT = 2**53
"""From here on a float is not the integer."""
_HELD_OUT = "val_"
"""What Keras puts before the names of scores on the held-out set."""


class ProgramCurves:
    """Writes the curves of one attempt. Only the leader may use it. What cannot be stored never ends a training."""

    def __init__(self, store: Store, run: str, first_step: int, parameters: Mapping[str, Any] | None = None) -> None:
        """Prepares the files of an attempt.

        Args:
            store: The artifacts.
            run: The name of the job in TensorBoard.
            first_step: The first step at which this attempt may draw. TensorBoard leaves out what earlier attempts have
                drawn from there on.
            parameters: Those of a trial of a study, by which TensorBoard compares runs.
        """
        self._store = store
        self._folder = f"logs/{run}"
        self._name = f"events.out.tfevents.{int(time.time()):010d}.{platform.node()}.{os.getpid()}"
        self._first_step = first_step
        self._files: dict[str, io.BytesIO] = {}
        self._parameters = parameters or {}
        self._copies = PeriodicUpload(self._store_all, "the curves of the last epochs are not stored for TensorBoard")

    def show(self, epoch: Epoch) -> None:
        """Adds the numbers of an epoch, at its step."""
        if self._parameters and _RUN not in self._files:
            self._introduce()
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
            self._store.write("/".join(filter(None, (self._folder, part, self._name))), file.getvalue())

    def _introduce(self) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams.metadata import NULL_TENSOR, SESSION_START_INFO_TAG, create_summary_metadata
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo

        start = SessionStartInfo(start_time_secs=time.time())
        texts = described(self._parameters)
        for name, value in self._parameters.items():
            if isinstance(value, bool):
                start.hparams[name].bool_value = value
            elif isinstance(value, float) or (isinstance(value, int) and abs(value) < _MOST_EXACT):
                start.hparams[name].number_value = value
            else:
                start.hparams[name].string_value = texts[name]
        metadata = create_summary_metadata(HParamsPluginData(session_start_info=start))
        self._files[_RUN] = io.BytesIO()
        self._write(_RUN, file_version="brain.Event:2")
        value = Summary.Value(tag=SESSION_START_INFO_TAG, tensor=NULL_TENSOR, metadata=metadata)
        self._write(_RUN, summary=Summary(value=[value]))

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
