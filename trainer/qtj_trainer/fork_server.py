"""Forks programs from a process that has loaded TensorFlow: `python -m qtj_trainer.fork_server LAUNCH IMPORTS PADDING`.

    qtj run ──▶ fork server ──fork──▶ supervisor ──fork──▶ trainer

To load TensorFlow takes most of the time of a short run, and a fork takes milliseconds. A forked program gets its own
variables and arguments. Everything else is that of the server, and who asks for the fork makes sure that this is right:
the Python, the working directory, and all variables that are read at the start of Python or by an import.

The server's stdin is a socket. It writes a byte once everything is loaded. A message to it carries the descriptors 0, 1
and 2 of a new process. The answer is the id of that process. Its parent is not the server but the next subreaper above
it (see prctl(2)): who starts the server has to be one, and can then wait for the process as for its own child. The
server ends with the socket, and by SIGKILL with the process that has started it.

A fork copies one thread. Where more threads are left after loading, the server ends instead.
"""

import builtins
import ctypes
import functools
import importlib
import os
import runpy
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

__all__ = ["run", "serve"]

_MODULES = (
    "qtj_trainer.run.cli",
    "qtj_trainer.replicate.strategy",  # this imports TensorFlow
    "qtj_simulator.noise.layer", "qtj_simulator.pqc", "qtj_simulator.qasm",
    "qtj_trainer.circuits", "qtj_trainer.loop.coordinated", "qtj_trainer.loop.independent_steps",
    "qtj_trainer.loop.synchronous", "qtj_trainer.run.outcome",
    "qtj_trainer.tensorboard.circuit_picture", "qtj_trainer.tensorboard.event_files",
    "qtj_trainer.tensorboard.model_summary", "qtj_trainer.tensorboard.summaries", "qtj_trainer.weights",
    "pydantic.type_adapter", "sympy.tensor.tensor", "tensorboard.summary.v2",  # by libraries, at their first use
)  # fmt: skip
"""What trainings and inferences import. Not TensorFlow Quantum, whose import starts threads."""

_STREAMS = 3
_PR_SET_PDEATHSIG = 1
"""prctl(2)."""
_ARGUMENTS, _ENVIRONMENT = 45, 47
"""Positions of two addresses each in /proc/PID/stat, after the name of the program."""
_ROOM = "QTJ_FORK_SERVER_ROOM"
"""A variable of the server that makes room for those of the programs."""


def serve(load: Callable[[], None]) -> Collection[int] | None:
    """Imports what the programs need, and forks a process for each message.

    Args:
        load: Imports it; it starts no thread that stays.

    Returns:
        In a forked process, the descriptors that a program has after these imports. In the server, None at its end.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.environ.pop(_ROOM, None)
    _show(_ARGUMENTS, [sys.executable, "-m", "qtj_trainer.fork_server"])  # without the padding
    with socket.socket(fileno=os.dup(0)) as connection:
        load()
        if not _is_single():
            return None
        descriptors = _descriptors() - {connection.fileno()}
        connection.sendall(b"\n")
        while streams := socket.recv_fds(connection, 1, _STREAMS)[1]:
            if not (child := _fork(streams)):
                return descriptors
            connection.sendall(f"{child}\n".encode())
    return None


def run(command: Sequence[str], environment: Mapping[str, str], descriptors: Collection[int]) -> None:
    """Runs a Python program in this forked process, as a process that starts with it.

    Args:
        command: Python, and either `-m`, a module and arguments, or a file and arguments.
        environment: All of its environment. It includes that with which the server was started.
        descriptors: Those that stay open.
    """
    for descriptor in _descriptors() - set(descriptors):
        os.close(descriptor)
    os.environ.update({**environment, **os.environ})  # what the server has is the same, or was set by an import
    _show(_ARGUMENTS, command)
    _show(_ENVIRONMENT, [f"{name}={value}" for name, value in environment.items()])  # copied by the update
    _start_afresh()
    sys.orig_argv[:] = command
    _, name, *arguments = command
    if name == "-m":
        module, *arguments = arguments
        sys.argv[:] = [module, *arguments]
        _set_folder(Path.cwd())
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = [name, *arguments]
        _set_folder(Path(name).resolve().parent)
        _run_script(name)


def _run_script(name: str) -> None:
    """Runs a script as the module `__main__`. Errors are shown without the frames of this module."""
    path = str(Path.cwd() / name)
    module = ModuleType("__main__")
    loader = SourceFileLoader("__main__", path)
    vars(module).update(
        __annotations__={}, __builtins__=builtins, __cached__=None, __file__=path, __loader__=loader, __package__=None
    )
    sys.modules["__main__"] = module
    try:
        code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        exec(code, vars(module))  # what Python does with a script
    except BaseException:
        sys.excepthook = functools.partial(_show_error, sys.excepthook)
        raise


def _show_error(
    show: Callable[..., object], kind: type[BaseException], problem: BaseException, traceback: TracebackType | None
) -> None:
    """Shows an error as of a script that starts alone: its traceback begins after `_run_script`."""
    shown = traceback
    while shown and shown.tb_frame.f_code is not _run_script.__code__:
        shown = shown.tb_next
    shown = shown.tb_next if shown else traceback
    show(kind, problem.with_traceback(shown), shown)


def _start_afresh() -> None:
    """Sets what a process chooses when it first imports or uses it; Python's own generators notice a fork."""
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # the generator that a program gets by default
    if symbols := sys.modules.get("sympy.core.random"):
        symbols.rng.seed()
    tempfile.tempdir = None


def _set_folder(folder: Path) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = str(folder)


def load(statements: Sequence[str] = ()) -> None:
    """Executes the imports of a script, which reports itself what fails; without any, imports for trainers."""
    from qtj_trainer.replica.garbage import none_collected
    from qtj_trainer.tracer import patch_tracer

    with none_collected():
        patch_tracer()
        for statement in statements:
            with suppress(Exception):
                exec(statement, {"__name__": "imports"})  # `ast.unparse` has made it of an import
        for module in () if statements else _MODULES:
            importlib.import_module(module)


def _is_single() -> bool:
    """Returns whether this process has one thread. OpenBLAS ends its threads before a fork, and starts them later."""
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
    return len(os.listdir("/proc/self/task")) == 1


def _descriptors() -> set[int]:
    numbers = map(int, os.listdir("/proc/self/fd"))
    return {number for number in numbers if _is_open(number)}  # not the one that has read the folder


def _is_open(descriptor: int) -> bool:
    with suppress(OSError):
        os.fstat(descriptor)
        return True
    return False


def _fork(streams: Sequence[int]) -> int:
    """Forks a process that is not a child of this one. Returns its id, and 0 in it."""
    reading, writing = os.pipe()
    between = os.fork()
    if not between:
        if child := os.fork():
            os.write(writing, str(child).encode())
            os._exit(0)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        return 0
    os.waitpid(between, 0)  # from now on the process has its new parent
    child = int(os.read(reading, 32))
    for descriptor in (reading, writing, *streams):
        os.close(descriptor)
    return child


def _show(which: int, words: Sequence[str]) -> None:
    """Shows arguments or variables as those of this process, in ps and in /proc/PID, if there is room for them.

    NUL characters follow them: only a privileged process may make the room smaller.
    """
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = map(int, fields[which : which + 2])
    text = b"".join(os.fsencode(word) + b"\0" for word in words)
    if len(text) <= end - start:
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, len(text))


def _main() -> None:
    launch = runpy.run_path(sys.argv[1])
    descriptors = serve(functools.partial(load, sys.argv[2].splitlines()))
    if descriptors is not None:
        os.setsid()
        command, environment = launch["supervise"](execute=False)  # returns in the program's process only
        run([*map(os.fsdecode, command)], {os.fsdecode(k): os.fsdecode(v) for k, v in environment.items()}, descriptors)


if __name__ == "__main__":
    _main()
