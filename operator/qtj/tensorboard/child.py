"""A program that serves TensorBoard's page of a run on a port until Ctrl-C: TensorBoard itself, or kubectl.

A supervisor ends it with this process, however that ends: see `qtj.local.launch`.
"""

import asyncio
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from qtj.local.addresses import HOST
from qtj.local.http import get
from qtj.local.launch import request
from qtj.local.process import start_supervisor
from qtj.terminal.errors import InputError
from qtj.terminal.streams import print_stdout

__all__ = ["answers", "serve", "usable_port"]

_PERIOD_SECONDS = 0.2
_STARTS_WITHIN = 300.0
"""Seconds. TensorBoard imports TensorFlow where it is installed, which takes a minute on a busy machine."""
_ENDS_WITHIN = 10.0


def serve(command: Sequence[str], program: str, ready: Callable[[], bool], sentence: str) -> None:
    """Runs a program until Ctrl-C or SIGTERM, and says when it serves.

    Args:
        command: The program and its arguments.
        program: Its name, for messages.
        ready: Whether it serves.
        sentence: What to print then.

    Raises:
        InputError: It has ended by itself, or does not serve.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it must not leave the program behind
    with (
        tempfile.TemporaryFile("w+", errors="replace") as output,
        _started(command, output) as process,
    ):
        try:
            _await(process, program, ready, output)
            print_stdout(sentence)
            process.wait()
            raise InputError(f"{program} has ended: {_last_line(output)}")
        except KeyboardInterrupt:
            return
        finally:
            _end(process)


@contextmanager
def _started(command: Sequence[str], output: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a program below a supervisor, which is yielded. It kills the program when the connection to it ends."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = start_supervisor(theirs, output.fileno())
        with process:
            with suppress(OSError):  # the supervisor has ended, which is noticed
                ours.sendall(request("", str(Path.cwd()), command, os.environ))
            yield process


def answers(address: str) -> bool:
    """Tells whether an HTTP server answers, whatever it answers."""
    try:
        asyncio.run(get(address, timeout=1))
    except OSError:
        return False
    return True


def _await(process: subprocess.Popen[bytes], program: str, ready: Callable[[], bool], output: IO[str]) -> None:
    last = time.monotonic() + _STARTS_WITHIN
    while not ready():
        if process.poll() is not None:
            raise InputError(f"{program} cannot start: {_last_line(output)}")
        if time.monotonic() > last:
            raise InputError(f"{program} does not answer after {_STARTS_WITHIN:.0f} s: {_last_line(output)}")
        time.sleep(_PERIOD_SECONDS)


def _last_line(output: IO[str]) -> str:
    output.seek(0)
    lines = [line.strip() for line in output if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(KeyboardInterrupt):  # Ctrl-C once more
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN)
    process.kill()


def usable_port(wanted: int) -> int:
    """Returns a port of this machine that nobody uses; 0 asks for any.

    Raises:
        InputError: It is in use, or may not be used.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError as problem:
            why = f"port {wanted} of this machine cannot be used ({problem.strerror})"
            raise InputError(f"{why}: choose another with --port, or any with --port 0") from None
        port: int = probe.getsockname()[1]
        return port
