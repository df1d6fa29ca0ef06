"""A trace of this process by TensorFlow's profiler, from one step boundary to a later one."""

import sys
import tempfile
from pathlib import Path

from qtj_trainer.errors import cause_of
from qtj_trainer.tracer import has_safe_traces

__all__ = ["Trace", "TraceError"]


class TraceError(Exception):
    """There is no trace. The message is the reason."""


class Trace:
    """A running trace."""

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
