"""Programs that are forked from a process that has imported what they need, which takes most of a short one's time.

As a script, `python -m tests.forked KIND`, this is that process: see `qtj_trainer.fork_server`.
"""

import ctypes
import functools
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from qtj_contract import Env

Kind = Literal["trainer", "program", "command"]
"""What is imported before: TensorFlow and the trainer; what `Program` needs; or what `qtj` needs, with the operator."""

_AS_GIVEN = {*Env, "HOME", "QTJ_DEVICES", "TEST_MARK_OF_QTJ", "TMPDIR", "STORAGE_EMULATOR_HOST"}
"""Variables that nothing reads before the program does."""
_CHANGING = "PYTEST_CURRENT_TEST"
_WORTH = 3
"""A server starts for so many programs: to start it takes as long as two."""
_PERIOD_SECONDS = 0.02
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_NOT_IMPORTED = ("__main__", "programs")
"""Modules of the command that are programs."""


class Forked:
    """A forked process, which is a child of this one, with the methods of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked trainer", timeout)
            time.sleep(_PERIOD_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Server:
    """Forks programs. It is started for the first of them, and ends with this process.

    Args:
        environment: What all of them have in their environment.
        kind: What it imports.

    Attributes:
        kind: The same.
    """

    def __init__(self, environment: Mapping[str, str], kind: Kind = "trainer") -> None:
        self._environment = _read_early(environment)
        self.kind = kind
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: int, errors: int
    ) -> Forked | None:
        """Forks a program; returns None if it has a variable that may be read before it starts."""
        if _read_early(environment) != self._environment:
            return None
        return Forked(self.fork(command, folder, environment, [output, errors]))

    def fork(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], streams: Sequence[int]) -> int:
        """Forks a program, as a child of this process. Returns its id.

        Args:
            command: Python, and either `-m` and a module or a file, and arguments.
            folder: Its working directory.
            environment: Its environment.
            streams: Its descriptors 1 and 2, and perhaps one for 0, which is /dev/null otherwise.
        """
        if self._process is not None and self._process.poll() is not None:
            self.close()  # it was killed, perhaps for lack of memory
        if self._process is None:
            self._begin()
        output, errors, *given = streams
        ours, theirs = socket.socketpair()
        with ours, theirs, _adopting():
            socket.send_fds(self._connection, [b"\n"], [theirs.fileno(), output, errors])
            socket.send_fds(ours, [b"\n"], given)
            ours.sendall(json.dumps([list(command), str(folder), dict(environment)]).encode())
            ours.shutdown(socket.SHUT_WR)
            answer = self._connection.recv(32)
        assert answer, "the fork server has ended"
        return int(answer)

    def _begin(self) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", self.kind, "-" * 4096],
                cwd=Path(__file__).parents[1],
                env={**self._environment, "QTJ_FORK_SERVER_ROOM": "-" * 8192},
                stdin=theirs.fileno(),
            )
        assert self._connection.recv(1), "the fork server cannot start"

    def close(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.wait()
            self._process = None


class Popen(subprocess.Popen[str]):
    """A Python program as `subprocess.Popen` starts it, forked where others had the same variables before it.

    Args:
        kind: What the server imports that it is forked from.
        command: Python, and either `-m` and a module or a file, and arguments.
        options: `cwd`, `env` and the streams.
    """

    def __init__(self, kind: Kind, command: Sequence[str], **options: Any) -> None:
        self._kind = kind
        super().__init__(command, text=True, **options)

    def _execute_child(
        self, args: Sequence[str], executable: Any, before: Any, close: Any, passed: Any, cwd: Any, env: Any,
        startup: Any, flags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int,
        errwrite: int, *rest: Any,
    ) -> None:  # fmt: skip
        """Takes the place of fork and exec. The standard library has pipes, waiting and signals around it."""
        server = servers.server(self._kind, env)
        if server is None:
            super()._execute_child(  # type: ignore[misc]
                args, executable, before, close, passed, cwd, env, startup, flags, shell, p2cread, p2cwrite, c2pread,
                c2pwrite, errread, errwrite, *rest,
            )  # fmt: skip
            return
        output = 1 if c2pwrite == -1 else c2pwrite
        streams = [output, 2 if errwrite == -1 else errwrite, *([] if p2cread == -1 else [p2cread])]
        self.pid = server.fork(args, Path(cwd), env, streams)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def run(
    kind: Kind, command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, without input."""
    with Popen(
        kind, command, cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        output, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


class Servers:
    """The servers of this process, one for each kind and set of variables that are read early."""

    def __init__(self) -> None:
        self._servers: dict[object, Server] = {}
        self._asked: Counter[object] = Counter()

    def server(self, kind: Kind, environment: Mapping[str, str]) -> Server | None:
        """Returns one that suits an environment, once it is worth its start."""
        if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
            return None  # a server ends with the thread that starts it, and answers one at a time
        if "KUBECONFIG" not in environment and environment.get("HOME") != os.environ.get("HOME"):
            return None  # the client of Kubernetes looks for its file when it is imported
        key = kind, frozenset(_read_early(environment).items())
        self._asked[key] += 1
        if key not in self._servers and self._asked[key] >= _WORTH:
            self._servers[key] = Server(environment, kind)
        return self._servers.get(key)


servers = Servers()


@contextmanager
def _adopting() -> Iterator[None]:
    """Lets this process become the parent of what loses its own, and no longer: nobody would wait for others."""
    prctl, before = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def _read_early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in {*_AS_GIVEN, _CHANGING}}


def _load_program() -> None:
    importlib.import_module("qtj_trainer.program.program")


def _load_command() -> None:
    for package in map(importlib.import_module, ("qtj", "qtj_contract", "qtj_operator", "qtj_report")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not set(_NOT_IMPORTED) & set(module.name.split(".")):
                importlib.import_module(module.name)


def _main() -> None:
    from qtj_trainer import fork_server

    loads = {"trainer": fork_server.load, "program": _load_program, "command": _load_command}
    descriptors = fork_server.serve(loads[sys.argv[1]])
    if descriptors is not None:
        _become(functools.partial(fork_server.run, descriptors=descriptors))


def _become(run: Callable[..., None]) -> None:
    """Runs the program that the request at descriptor 0 describes."""
    with socket.socket(fileno=os.dup(0)) as asked:
        given = socket.recv_fds(asked, 1, 1)[1] or [os.open(os.devnull, os.O_RDONLY)]
        with asked.makefile("rb") as request:
            command, folder, environment = json.load(request)
    os.dup2(given[0], 0)
    _open_streams()
    os.chdir(folder)
    run(command, environment)


def _open_streams() -> None:
    """Python chooses at its start how it reads and writes its streams; those of the server are of another kind."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream, mode = getattr(sys, name), "w" if number else "r"
        raw = os.fdopen(number, f"{mode}b", closefd=False)
        now = io.TextIOWrapper(raw, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
        setattr(sys, name, now)
        setattr(sys, f"__{name}__", now)


if __name__ == "__main__":
    _main()
