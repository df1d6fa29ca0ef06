"""Runs the program of a container, and ends everything that the program starts.

    qtj run ──socket──▶ supervisor (this script) ──▶ program ──▶ its children, daemons included

A separate script, run as `python -I -S launch.py`: between fork and exec Python code is unsafe in a process with
threads. Standard library only. Its stdin is a socket, its stdout and stderr are those of the program:

    in     the request (see `request`); then any byte means: kill. Its end means that qtj run has ended: kill
    out    the program's process id, or minus the error number of the system call that could not start it

On Linux the supervisor is a subreaper: every descendant of the program that loses its parent becomes a child of the
supervisor, even after setsid and a double fork, and cannot avoid that. Elsewhere the program's process group
is killed. The supervisor ends with the program's exit code, or 128 + n when signal n ended it.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # there is one such process for each pod: typing, contextlib and pathlib would take a third of it
    from collections.abc import Mapping, Sequence

__all__ = ["adopt_orphans", "children_of", "kill", "request", "supervise"]

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
"""prctl(2)."""

_CONTROL = 0
_HEADER = 16
"""Bytes with the length of the rest of the request."""
_KILLED = 128 + signal.SIGKILL
_NOT_STARTED = 126
"""The exit code of a shell for a program that it has found but cannot run."""


def request(scratch: str, folder: str, command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Returns the request for a supervisor.

    Args:
        scratch: A folder that it removes if qtj run has ended; or "".
        folder: The working directory.
        command: The program, as an absolute path, and its arguments.
        environment: All of its environment.
    """
    variables = (f"{name}={value}" for name, value in environment.items())
    words = (scratch, folder, str(len(command)), *command, *variables)
    body = b"\0".join(map(os.fsencode, words))
    return f"{len(body):<{_HEADER}}".encode() + body


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants that lose theirs (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children_of(parent: int) -> list[int]:
    """Returns the children of a process; none without /proc. Not every kernel has /proc/PID/task/TID/children."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and _parent_of(name) == parent]


def _parent_of(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])  # before it, the program's name may hold anything
    except OSError:
        return None


def kill(pid: int) -> bool:
    """Kills a process, or minus a process group; returns whether that was possible: processes of other users stay."""
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def supervise(*, execute: bool) -> tuple[list[bytes], dict[bytes, bytes]]:
    """Starts the requested program, and ends with its exit code once nothing of it is left.

    Args:
        execute: Whether the program replaces the process that is forked for it.

    Returns:
        Otherwise, and only in that process: the program with its arguments, and all of its environment.
    """
    adopt_orphans()
    scratch, folder, count, *words = _received(int(_received(_HEADER))).split(b"\0")
    command, variables = words[: int(count)], words[int(count) :]
    environment = dict(each.split(b"=", 1) for each in variables)
    try:
        program = _started(folder, command, environment, execute=execute)
    except OSError as problem:
        _answer(-(problem.errno or errno.EIO))
        os._exit(_NOT_STARTED)
    if not program:
        return command, environment
    woken = _woken_by_signals(program)
    _answer(program)
    code = _end(program, _watched(program, woken))
    if scratch and _is_alone():
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(code)


def _received(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(_CONTROL, size - len(data))
        if not more:  # qtj run ended before anything was started
            os._exit(_KILLED)
        data += more
    return data


def _answer(number: int) -> None:
    try:
        os.write(_CONTROL, f"{number}\n".encode())
    except OSError:  # qtj run has ended, which is noticed later
        return


def _started(folder: bytes, command: list[bytes], environment: dict[bytes, bytes], *, execute: bool) -> int:
    """Starts the program in its own session, which ends with this process. Returns its id, and 0 in it.

    Raises:
        OSError: It cannot be started.
    """
    reading, writing = os.pipe()  # both ends are closed by exec
    supervisor = os.getpid()
    program = os.fork()
    if not program:
        _become(folder, command, environment if execute else None, supervisor, writing)
        os.close(writing)
        return 0
    os.close(writing)
    problem = os.read(reading, 16)
    os.close(reading)
    if problem:
        os.waitpid(program, 0)
        raise OSError(int(problem), os.strerror(int(problem)))
    return program


def _become(
    folder: bytes, command: list[bytes], environment: dict[bytes, bytes] | None, supervisor: int, problems: int
) -> None:
    """Makes this process that of the program; an error is written to `problems`.

    Without an environment, it returns where the program would be executed: Python has started already.
    """
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:  # it ended before this process was bound to it
            os._exit(_KILLED)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        if environment is not None:
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a shell's pipelines need them
                signal.signal(number, signal.SIG_DFL)
            os.execve(command[0], command, environment)  # noqa: S606
    except OSError as problem:
        os.write(problems, str(problem.errno).encode())
        os._exit(_NOT_STARTED)
    except BaseException:  # noqa: BLE001  this process must never go on as a supervisor
        os._exit(_NOT_STARTED)


def _woken_by_signals(program: int) -> int:
    """Passes SIGTERM on to the program, and returns a descriptor that is readable when a child has ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(program, signal.SIGTERM))
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    return woken


def _watched(program: int, woken: int) -> int | None:
    """Waits for the program's end and returns its exit code; None if it has to be killed first."""
    while (code := _reaped(program)) is None:
        ready, _, _ = select.select([_CONTROL, woken], [], [])
        if _CONTROL in ready:
            return None
        os.read(woken, 4096)
    return code


def _reaped(program: int) -> int | None:
    """Reaps the children that have ended; returns the exit code of the program if it is among them."""
    while (child := os.waitpid(-1, os.WNOHANG))[0]:
        if child[0] == program:
            return _exit_code(child[1])
    return None


def _end(program: int, code: int | None) -> int:
    """Kills the program, unless it has ended with `code`, and everything that is left of it. Returns its exit code."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # there is no program to pass it on to
    kill(-program)  # its process group
    if code is None:
        code = _exit_code(os.waitpid(program, 0)[1])
    while _has_children() and (killed := [pid for pid in children_of(os.getpid()) if kill(pid)]):
        for pid in killed:  # their children become ours
            os.waitpid(pid, 0)
    return code


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _is_alone() -> bool:
    """Tells whether qtj run has ended."""
    os.set_blocking(_CONTROL, False)
    try:
        while os.read(_CONTROL, 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    supervise(execute=True)
