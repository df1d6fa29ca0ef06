"""Kills what `qtj run` started, once `qtj run` is no more, however it ended.

A script of its own, run as `python -I -S guard.py [FOLDER]` with a pipe as stdin: one line `+PID` for each process
group to watch, `-PID` for each that has ended. The end of the pipe is the end of whoever held its other side. Signals
meant for `qtj run` do not end it. Last it removes the folder, in which `qtj run` keeps what programs leave as last
words. Standard library only.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


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
    for folder in sys.argv[1:]:
        _remove(Path(folder))


def _remove(folder: Path) -> None:
    """Removes a folder of files; on purpose not one with folders in it."""
    with suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()
