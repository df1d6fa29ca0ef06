"""`make bench-spot`, first part: from a lost worker to the next step under `qtj run`, and the cost of a checkpoint.

A worker is killed with SIGKILL, so this has neither the time until a cluster notices a lost node, nor that for another
node and for an image.
"""

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from tests.local.laptop import Laptop, eventually

_TRIALS = 3
_PLAIN = """
import time
from qtj_trainer import Program

program = Program(epochs=100000)

import numpy as np

state = program.state(w=np.zeros(3))
for epoch in program.epochs():
    for step in epoch.steps(10):
        time.sleep(0.01)
    print(f"step {time.time()}", flush=True)
"""
_TENSORFLOW = """
import time
from qtj_trainer import Program

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
    with _laptop(program) as laptop:
        running = laptop.start("run", "spot.py", "--workers", "2")
        eventually(lambda: len(_steps(laptop, 1)) >= 20, seconds=300)
        killed = laptop.worker(1)
        before = _steps(laptop, 1)[-1]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: _steps(laptop, 2), seconds=300)
        after = _steps(laptop, 2)[0]
        running.interrupt()
        running.end()
    return after - before


def _checkpoint_seconds(size: int) -> float:
    with _laptop(_CHECKPOINT.replace("SIZE", str(size))) as laptop:
        ended = laptop.start("run", "spot.py").end(seconds=300)
        if ended.code:
            raise SystemExit(ended.errors)
        text = (laptop.artifacts("spot") / "logs/spot-worker-0.1.log").read_text()
    return float(text.rpartition("took ")[2].split()[0])


def _steps(laptop: Laptop, attempt: int) -> list[float]:
    log = laptop.artifacts("spot") / f"logs/spot-worker-0.{attempt}.log"
    return [float(each) for each in re.findall(r"step (\d+\.\d+)\n", log.read_text())] if log.exists() else []


@contextmanager
def _laptop(program: str) -> Iterator[Laptop]:
    """A folder with the program; what it has started ends with the block."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        Path(folder, "spot.py").write_text(program)
        yield Laptop(Path(folder), stack)


if __name__ == "__main__":
    main()
