"""`make bench-spot`, first part: from a lost worker to the next step under `qtj run`, and the cost of a checkpoint.

A worker is killed with SIGKILL, so this has neither the time until a cluster notices a lost node, nor that for another
node and for an image.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

_TRIALS = 3
_SECONDS = 300.0
"""How long to wait for what takes some seconds."""
_PLAIN = """
import os
import time
from qtj_trainer import Program

print(f"process {os.getpid()}", flush=True)
program = Program(epochs=100000)

import numpy as np

state = program.state(w=np.zeros(3))
for epoch in program.epochs():
    for step in epoch.steps(10):
        time.sleep(0.01)
    print(f"step {time.time()}", flush=True)
"""
_TENSORFLOW = """
import os
import time
from qtj_trainer import Program

print(f"process {os.getpid()}", flush=True)
program = Program(epochs=100000)

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 3]), tf.ones([64, 1]))).batch(8)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.Adam(0.1), loss="mse")
    first = program.restore(model)


class Told(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print(f"step {time.time()}", flush=True)


callbacks = [Told(), program.callback()]
model.fit(data.with_options(options), epochs=100000, initial_epoch=first, callbacks=callbacks, verbose=0)
"""
_CHECKPOINT = """
import time
from qtj_trainer import Program

program = Program(epochs=1, checkpoint_steps=1)

import numpy as np

state = program.state(w=np.zeros(SIZE, np.uint8))
times = [time.perf_counter()]
for epoch in program.epochs():
    for step in epoch.steps(21):
        times.append(time.perf_counter())
print("took", np.median(np.diff(times[1:])), flush=True)
program.finish(state.w)
"""


def main() -> None:
    """Prints two Markdown tables."""
    print("| two workers of | killed worker to next step, median | each |")
    print("|---|---|---|")
    for name, program in {"a loop in NumPy": _PLAIN, "`fit` with MultiWorkerMirroredStrategy": _TENSORFLOW}.items():
        gaps = [_gap(program) for _ in range(_TRIALS)]
        print(f"| {name} | {median(gaps):.1f} s | {', '.join(f'{gap:.1f}' for gap in gaps)} |", flush=True)
    print("\n| checkpoint of | time |")
    print("|---|---|")
    for words, size in {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "100 MiB": 100 << 20}.items():
        print(f"| {words} | {_checkpoint_seconds(size) * 1000:.1f} ms |", flush=True)


def _gap(program: str) -> float:
    """Returns the seconds from the end of a worker to the next step."""
    with _folder(program) as folder, _started(folder, "--workers", "2"):
        _until(lambda: len(_steps(folder, 1)) >= 20)
        killed = int(_log(folder, "worker-1.1").partition("process ")[2].split()[0])
        before = _steps(folder, 1)[-1]
        os.kill(killed, signal.SIGKILL)
        _until(lambda: _steps(folder, 2))
        return _steps(folder, 2)[0] - before


def _checkpoint_seconds(size: int) -> float:
    with _folder(_CHECKPOINT.replace("SIZE", str(size))) as folder:
        with _started(folder) as running:
            if running.wait(_SECONDS):
                raise SystemExit((folder / "output").read_text())
        return float(_log(folder, "worker-0.1").rpartition("took ")[2].split()[0])


def _steps(folder: Path, attempt: int) -> list[float]:
    return [float(each) for each in re.findall(r"step (\d+\.\d+)\n", _log(folder, f"worker-0.{attempt}"))]


def _log(folder: Path, name: str) -> str:
    """Returns what a replica has written in an attempt."""
    log = folder / f"qtj-artifacts/spot/1/logs/spot-{name}.log"
    return log.read_text() if log.exists() else ""


@contextmanager
def _folder(program: str) -> Iterator[Path]:
    """A folder with the program."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "spot.py").write_text(program)
        yield Path(folder)


@contextmanager
def _started(folder: Path, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Runs the program; the run ends with the block, and with it what it has started."""
    words = [sys.executable, "-m", "qtj", "run", "spot.py", *options]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("QTJ_", "TF_"))}
    with (folder / "output").open("wb") as output:
        running = subprocess.Popen(words, cwd=folder, env=variables, stdout=output, stderr=output)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(_SECONDS)


def _until(holds: Callable[[], Any]) -> None:
    last = time.monotonic() + _SECONDS
    while not holds():
        if time.monotonic() > last:
            raise SystemExit(f"it takes longer than {_SECONDS:.0f} s")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
