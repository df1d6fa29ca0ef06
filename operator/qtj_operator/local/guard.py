"""Kills what `qtj run` started, once `qtj run` is no more, however it ended.

A script of its own, run as `python -I -S guard.py` with a pipe as stdin: one line `+PID` for each process group to
watch, `-PID` for each that has ended. The end of the pipe is the end of whoever held its other side. Signals meant for
`qtj run` do not end it. Standard library only.
"""

import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    """Reads until the pipe ends, then kills every process group that is still known."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
