"""Becomes the program of a container, bound to the life of the process that started it.

A script of its own, run as `python -I -S launch.py PARENT PROGRAM ARGUMENT...`: between fork and exec Python code is
unsafe in a process with threads. Standard library only.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""prctl(2)."""


def main(parent: int, program: str, arguments: list[str]) -> None:
    """Replaces this process by the program, which gets SIGKILL when its parent dies (Linux)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it was watched
        os._exit(128 + signal.SIGKILL)
    try:
        os.execv(program, arguments)  # noqa: S606
    except OSError as problem:
        sys.exit(f"cannot run {program}: {problem.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[2:])
