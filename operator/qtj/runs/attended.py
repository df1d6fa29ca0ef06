"""A session that a user watches: Ctrl-C, and a terminal that is closed."""

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from functools import partial

from qtj.local.session import Session
from qtj.runs.line_view import LineView
from qtj.terminal.errors import INTERRUPTED

__all__ = ["LostTerminal", "run_attended"]

_Handler = Callable[[], object]


class _Interrupts:
    """Ctrl-C: the first time a graceful stop, the second time a kill, the third time the end of this process."""

    def __init__(self, session: Session, view: LineView) -> None:
        self._session = session
        self._view = view
        self._count = 0

    def hang_up(self) -> None:
        """Called when the terminal is gone: once for its signal, and once for the write that failed."""
        if not self._count:
            self()

    def __call__(self) -> None:
        """Called for each signal."""
        self._count += 1
        if self._count == 1:
            self._view.print("stopping: the programs are asked to end, checkpoints stay; again kills them", "yellow")
            self._session.stop()
        elif self._count == 2:
            self._session.kill()
        else:
            self._view.restore_terminal()
            os._exit(INTERRUPTED)  # even if something blocks; the supervisors end the programs


class LostTerminal:
    """Ends a run whose terminal is closed. Another thread than that of the run may detect this."""

    def __init__(self) -> None:
        self.hang_up: _Handler = lambda: None

    def __call__(self, problem: OSError) -> None:
        """See `safe_stream`."""
        if problem.errno == errno.EIO:
            self.hang_up()


async def run_attended(session: Session, view: LineView, lost: LostTerminal) -> None:
    """Runs a session to its end, or until the user stops it."""
    interrupted = _Interrupts(session, view)
    handlers: dict[signal.Signals, _Handler] = {signal.SIGINT: interrupted, signal.SIGTERM: interrupted}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup asks
        handlers[signal.SIGHUP] = interrupted.hang_up
        lost.hang_up = partial(asyncio.get_running_loop().call_soon_threadsafe, interrupted.hang_up)
    for number, handler in handlers.items():
        asyncio.get_running_loop().add_signal_handler(number, handler)
    try:
        await session.run()
    finally:
        lost.hang_up = lambda: None
