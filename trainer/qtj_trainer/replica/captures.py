"""Profiles that a training takes of itself: those of `spec.profiler.captures`, and those that are requested.

    step         1    2    3    4    5    6
    boundary       ◀──────────────▶
                 starts          ends, because its steps or its time are over

Every replica that takes steps starts and ends a capture by itself, between two steps. They take each step together, so
a capture that starts by epoch or step starts at the same step everywhere. A replica that cannot be traced says so in
the artifacts. A capture never ends a training: whatever goes wrong is recorded, and logged by the leader.
"""

import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import qtj_contract as contract
from qtj_contract.captures import LONGEST_SECONDS, STEPS, seconds_of
from qtj_trainer.errors import TrainerError, UserError, cause_of
from qtj_trainer.replica.capture_files import CaptureFiles
from qtj_trainer.replica.profile_requests import ProfileRequests
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replicate.cluster import Member
from qtj_trainer.stored.position import Position
from qtj_trainer.stored.run_name import run_name
from qtj_trainer.tracer import has_safe_traces

__all__ = ["PATIENCE", "Captures", "planned_captures"]

PATIENCE = 30.0
"""Seconds in which the leader looks for the files of its peers, and for which the end of a training waits."""

log = logging.getLogger("qtj_trainer")


def planned_captures(replica: Replica) -> Sequence[contract.Capture]:
    """Returns the captures of the environment.

    Raises:
        UserError: If they cannot be read.
    """
    written = replica.environment.get(contract.Env.PROFILER_CAPTURES)
    try:
        return contract.parse_captures(written) if written else ()
    except ValueError as problem:
        raise UserError(
            f"{contract.Env.PROFILER_CAPTURES}: {problem}: write for example"
            ' [{"step": 100, "steps": 5}, {"elapsed": "10m", "duration": "2s"}]'
        ) from problem


class TraceError(Exception):
    """There is no trace. The message is the reason."""


class Trace:
    """A running trace of this process by TensorFlow's profiler, from one step boundary to a later one."""

    def __init__(self, *, exchanges: bool) -> None:
        """Starts it.

        Args:
            exchanges: Whether the process exchanges tensors with others, by which a trace can end it; see `tracer`.

        Raises:
            TraceError: If the process cannot be traced, another trace of it is running, or the disk is full.
        """
        if obstacle := _obstacle(exchanges=exchanges):
            raise TraceError(obstacle)
        import tensorflow as tf

        self._profiler = tf.profiler.experimental
        self._folder = _temporary_folder()
        try:
            self._profiler.start(self._folder.name)
        except Exception as problem:
            self._folder.cleanup()
            raise TraceError(_reason(problem)) from problem

    def stop(self) -> bytes:
        """Ends it, and returns the profile.

        Raises:
            TraceError: If TensorFlow has none.
        """
        try:
            self._profiler.stop()
            [file] = Path(self._folder.name).glob("plugins/profile/*/*.xplane.pb")
            return file.read_bytes()
        except Exception as problem:
            raise TraceError(_reason(problem)) from problem
        finally:
            self._folder.cleanup()

    def discard(self) -> None:
        """Ends it without a profile."""
        self._profiler.stop(save=False)
        self._folder.cleanup()


@dataclass(slots=True)
class _Running:
    """A capture that has started.

    Attributes:
        capture: What was asked for.
        files: Where it will be.
        trace: The trace.
        step: The step after which it started.
        since: When it started.
    """

    capture: contract.Capture
    files: CaptureFiles
    trace: Trace
    step: int
    since: float

    def is_over(self, step: int, now: float) -> bool:
        """Whether it ends after a step."""
        if self.capture.duration:
            return now - self.since >= seconds_of(self.capture.duration)
        return step - self.step >= (self.capture.steps or STEPS) or now - self.since >= LONGEST_SECONDS


class Captures:
    """The captures of one attempt. Use it in a with statement around the steps."""

    def __init__(self, replica: Replica, captures: Sequence[contract.Capture], start: Position) -> None:
        """Begins an attempt.

        Args:
            replica: The replica.
            captures: What is asked for.
            start: From where the attempt continues. Captures before it are not taken again.
        """
        self._replica = replica
        self._run = run_name(replica.environment) if replica.job_uid else "local"
        members = replica.cluster.members
        self._me = _name_of(replica.cluster.me)
        # With parameter servers, only the coordinator has boundaries between steps.
        trace_all = members and not replica.cluster.is_coordinated
        self._replicas = [_name_of(each) for each in members] if trace_all else [self._me]
        self._waiting = [each for each in captures if not _is_past(each, start)]
        self._requests = ProfileRequests(self._replicas, lambda: replica.telemetry.progress.steps, start.step)
        replica.telemetry.profile_requests = self._requests
        waiting = self._waiting if replica.cluster.leads else ()
        self._earlier = {each.name: self._files(each).versions() for each in waiting}
        """Files of an attempt before: a peer has stored its profile when it has replaced them."""
        self._began = time.monotonic()
        self._step = start.step
        self._running: _Running | None = None
        self._storing: list[threading.Thread] = []
        self._lock = threading.Lock()
        for past in captures:
            if past not in self._waiting and replica.cluster.leads:
                self._record(self._files(past).record(self._replicas))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends a capture that is running. After an error it is not stored."""
        if problem is None:
            self.close()
        else:
            self._requests.close()
            self._discard()

    def close(self) -> None:
        """Ends and stores a capture that is running, after the last step."""
        if requested := self._requests.close():
            self._waiting.append(requested)
        if self._running and self._running.step == self._step:
            self._waiting.append(self._running.capture)  # it started after the last step, so it shows none
            self._discard()
        self._stop()
        for each in self._waiting:
            self._record(self._never_started(each))
        deadline = time.monotonic() + 2 * PATIENCE
        for thread in self._storing:
            thread.join(max(0.0, deadline - time.monotonic()))

    def reach(self, step: int, epochs: int, *, settled: bool = True) -> None:
        """Starts or ends what is due between two steps.

        Args:
            step: Finished optimizer steps.
            epochs: Finished epochs.
            settled: Whether no later step has started. Otherwise nothing starts or ends here, except with parameter
                servers, where steps always overlap.
        """
        if not settled and not self._replica.cluster.is_coordinated:
            return
        now, self._step = time.monotonic(), step
        if self._running and self._running.is_over(step, now):
            self._stop()
        due = next((each for each in self._waiting if self._is_due(each, step, epochs, now)), None)
        if due and not self._running:
            self._waiting.remove(due)
            self._start(due, step, now)
        running = self._running.capture.name if self._running else ""
        if requested := self._requests.reach(step, now, running):
            self._start(requested, step, now)

    def need(self, step: int) -> bool:
        """Returns whether a capture starts or may end after a step, so that no later step may have started."""
        if self._replica.cluster.is_coordinated:
            return False
        starts = self._requests.starts_after(step) or any(each.step == step + 1 for each in self._waiting)
        return starts or bool(self._running)

    def _is_due(self, capture: contract.Capture, step: int, epochs: int, now: float) -> bool:
        if capture.step is not None:
            return step >= capture.step - 1
        if capture.epoch is not None:
            return epochs >= capture.epoch - 1
        return now - self._began >= seconds_of(capture.elapsed or "0s")

    def _start(self, capture: contract.Capture, step: int, now: float) -> None:
        files = self._files(capture, self._earlier.get(capture.name))
        self._record(contract.CaptureRecord(capture.name, "Running"))
        try:
            trace = Trace(exchanges=len(self._replica.cluster.members) > 1)
            self._running = _Running(capture, files, trace, step, now)
        except TraceError as problem:
            self._store(files, partial(files.store_error, self._me, str(problem)))

    def _stop(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        try:
            store = partial(running.files.store_profile, self._me, running.trace.stop())
        except TraceError as problem:
            store = partial(running.files.store_error, self._me, str(problem))
        self._store(running.files, store)

    def _discard(self) -> None:
        running, self._running = self._running, None
        if running:
            with suppress(Exception):  # the training ends for another reason, which must be reported
                running.trace.discard()

    def _never_started(self, capture: contract.Capture) -> contract.CaptureRecord:
        """Returns what an earlier attempt has stored, which happens with `elapsed`, or that there is nothing."""
        earlier = self._files(capture).record(self._replicas) if self._replica.cluster.leads else None
        if earlier and earlier.state == "Stored":
            return earlier
        return contract.CaptureRecord(capture.name, "Failed", error="the training ended before it started")

    def _store(self, files: CaptureFiles, store: Callable[[], None]) -> None:
        """Stores a file while the training continues."""

        def work() -> None:
            try:
                store()
            except TrainerError as problem:
                log.warning("the profile %s of %s is not stored: %s", files.name, self._me, problem)
            if self._replica.cluster.leads:
                self._record(files.record(self._replicas, PATIENCE))

        thread = threading.Thread(target=work, name="captures", daemon=True)
        self._storing.append(thread)
        thread.start()

    def _record(self, record: contract.CaptureRecord) -> None:
        """Reports what became of a capture, if this replica leads."""
        if not self._replica.cluster.leads:
            return
        if record.error:
            log.warning("profile %s: %s", record.name, record.error)
        elif record.path:
            log.info("profile %s", self._replica.store.uri(record.path))
        with self._lock:
            telemetry = self._replica.telemetry
            records = {each.name: each for each in telemetry.captures} | {record.name: record}
            telemetry.captures = tuple(records.values())[-contract.MOST_CAPTURES :]

    def _files(self, capture: contract.Capture, earlier: Mapping[str, str] | None = None) -> CaptureFiles:
        return CaptureFiles(self._replica.store, self._run, capture.name, earlier)


def _is_past(capture: contract.Capture, start: Position) -> bool:
    """Whether an attempt that continues from a position comes after the start of a capture."""
    if capture.step is not None:
        return capture.step <= start.step
    return capture.epoch is not None and capture.epoch <= start.epochs


def _name_of(member: Member | None) -> str:
    return f"{member.role}-{member.index}" if member else "worker-0"


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="qtj-capture-", ignore_cleanup_errors=True)
    except OSError as problem:
        why = f"a profile needs a temporary folder ({cause_of(problem)})"
        raise TraceError(f"{why}: make room, or set TMPDIR to a folder this process may write to") from problem


def _obstacle(*, exchanges: bool) -> str:
    """Returns why this process cannot be traced; empty if it can."""
    if "tensorflow" not in sys.modules:
        return "the program does not use TensorFlow"
    if exchanges and not has_safe_traces():
        return "a trace can end this process, because TensorFlow's tracer is not corrected"
    return ""


def _reason(problem: Exception) -> str:
    return f"TensorFlow's profiler: {' '.join(str(problem).split()) or type(problem).__name__}"
