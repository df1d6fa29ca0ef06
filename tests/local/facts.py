"""A program that prints everything it can see of its own process: `python -m facts [exit CODE | wait | leave | fail]`.

It also runs as a script.
"""

import atexit
import ctypes
import hashlib
import importlib
import inspect
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
from importlib.abc import SourceLoader
from pathlib import Path
from typing import Any

from qtj_trainer.libraries import imported_versions

_PR_GET_PDEATHSIG = 2


def main() -> None:
    match sys.argv[1:]:
        case ["exit", code]:
            sys.exit(int(code))
        case ["wait"]:
            print("waiting", flush=True)
            signal.pause()
        case ["leave"]:
            left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            print(left.pid, flush=True)
        case ["fail"]:
            _fail()
        case _:
            supervisor = Path(f"/proc/{os.getppid()}/cmdline").read_bytes()
            is_forked = b"qtj_trainer.fork_server" in supervisor
            print(json.dumps({"same": _facts(), "chance": _chance(), "forked": is_forked}))


def _fail() -> None:
    atexit.register(print, "the end")
    try:
        int("no number")
    except ValueError as problem:
        raise RuntimeError("two errors") from problem


def _facts() -> dict[str, Any]:
    bits = _bits()  # first: its imports set variables
    return {
        "bits": bits,
        "variables": dict(os.environ),
        "limits": {
            name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name[:7] == "RLIMIT_"
        },
        "signals": _status("SigBlk", "SigIgn", "SigCgt"),
        "handlers": {number.name: str(signal.getsignal(number)) for number in signal.valid_signals() - _REAL_TIME},
        "death signal": _death_signal(),
        "cwd": str(Path.cwd()),
        "umask": _status("Umask"),
        "nice": os.nice(0),
        "processors": sorted(os.sched_getaffinity(0)),
        "memory": Path("/proc/self/oom_score_adj").read_text(),
        "leads its session": os.getsid(0) == os.getpid(),
        "leads its group": os.getpgrp() == os.getpid(),
        "control group": Path("/proc/self/cgroup").read_text(),
        "name": Path("/proc/self/comm").read_text(),
        "command": Path("/proc/self/cmdline").read_bytes().rstrip(b"\0").decode(),
        "variables at its start": _variables(),
        "arguments": [sys.argv, sys.orig_argv],
        "path": sys.path,
        "flags": str(sys.flags),
        "main": [__name__, __file__, sys.modules["__main__"].__file__, _main_module()],
        "streams": [
            [each.name, each.encoding, each.line_buffering, getattr(each, "write_through", None), each.isatty()]
            for each in (sys.stdin, sys.stdout, sys.stderr)
        ],
        "descriptors": _descriptors(),
        "temporary": tempfile.gettempdir(),
    }


def _main_module() -> dict[str, Any]:
    """Returns how Python has made the module of a script, and what depends on it."""
    module = sys.modules["__main__"]
    if module.__spec__:
        return {}
    made = {name: type(value).__name__ for name, value in vars(module).items() if name[:2] == "__"}
    assert pickle.loads(pickle.dumps(main)) is main
    loader = str(module.__loader__.get_filename("__main__")) if isinstance(module.__loader__, SourceLoader) else ""
    return made | {
        "names": [module.__name__, module.__doc__, loader, main.__code__.co_filename],
        "source": inspect.getsource(main),
        "versions": imported_versions(),
    }


_REAL_TIME = set(range(signal.SIGRTMIN, signal.SIGRTMAX + 1))


def _status(*names: str) -> dict[str, str]:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: lines[name] for name in names}


def _variables() -> list[str]:
    """Returns what ps shows, but for the mark of a run."""
    shown = Path("/proc/self/environ").read_bytes().decode().split("\0")
    return sorted(each for each in shown if each and not each.startswith("QTJ_RUN="))


def _death_signal() -> int:
    number = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_PDEATHSIG, ctypes.byref(number), 0, 0, 0)
    return number.value


def _descriptors() -> dict[str, str]:
    """Returns what each descriptor refers to; pipes differ from process to process."""
    found = {}
    for each in Path("/proc/self/fd").iterdir():
        try:
            found[each.name] = str(each.readlink()).partition(":[")[0]
        except FileNotFoundError:  # the folder itself
            continue
    return found


def _bits() -> str:
    """Returns the digest of what NumPy, TensorFlow and the simulator compute, all with several threads."""
    importlib.import_module("qtj_trainer.replicate.strategy")  # first, as in the trainer: this loads TensorFlow
    import cirq
    import numpy as np
    import sympy
    import tensorflow as tf

    from qtj_simulator import PQC

    chance = np.random.default_rng(0)
    digest = hashlib.sha256()
    matrix = chance.normal(size=(400, 400))
    digest.update(np.linalg.inv(matrix @ matrix).tobytes())
    tf.random.set_seed(1)
    digest.update(tf.linalg.inv(tf.random.normal((200, 200))).numpy().tobytes())
    qubits, angles = cirq.LineQubit.range(6), sympy.symbols("a0:6")
    circuit = cirq.Circuit(
        (cirq.ry(angle)(qubit) for angle, qubit in zip(angles, qubits, strict=True)),
        map(cirq.CNOT, qubits[:-1], qubits[1:]),
    )
    layer = PQC(circuit, [cirq.Z(qubits[-1])], weights=angles, seed=0)
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(layer(tf.zeros((8, 0))))
    digest.update(value.numpy().tobytes())
    for gradient in tape.gradient(value, layer.trainable_variables):
        digest.update(gradient.numpy().tobytes())
    return digest.hexdigest()


def _chance() -> list[float]:
    import random

    import numpy as np

    return [random.random(), float(np.random.random())]


if __name__ == "__main__":
    main()
