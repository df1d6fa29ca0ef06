"""Runs everything that the trainer's image is for, with the Python that runs this: `python image/workloads.py FOLDER`.

It proves that `image/slim.py` leaves what they need. It needs no more than what the image has: no test library, and of
this repository the examples alone.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

_TRAINER = ("-m", "qtj_trainer")
_QUBITS = ("--qubits=4", "--rounds=4", "--epochs=1", "--seed=0")
_EVALUATOR = {"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "evaluator", "index": 0}}

_PROFILE = """
import socket, subprocess, sys, time
from pathlib import Path
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
import os, tensorflow as tf
command = [sys.executable, "-m", "qtj_trainer", "train", "qcnn", "--qubits=4", "--rounds=2", "--epochs=100000",
           "--checkpoint-every=0", "--artifacts=profiled"]
served = {**os.environ, "QTJ_PROFILER_PORT": str(port)}
trained = subprocess.Popen(command, env=served, stdout=subprocess.PIPE, text=True)
try:
    for line in trained.stdout:
        if "epoch " in line:
            break
    tf.profiler.experimental.client.trace(f"127.0.0.1:{port}", "profile", 300, num_tracing_attempts=10)
finally:
    trained.kill()
assert list(Path("profile").glob("plugins/profile/*/*.xplane.pb")), "no profile was written"
"""
_CURVES = """
import sys
from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
files = list(Path("hybrid").glob("logs/**/events.out.*"))
assert files, "no curves were written"
curves = EventAccumulator(str(files[0].parent)).Reload().Tags()
assert any(curves.values()), curves
"""
_PICTURE = (
    "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot; pyplot.plot([1]); pyplot.savefig('a.png')"
)
_BUCKET = "from google.cloud import storage; storage.Client.create_anonymous_client().bucket('b').blob('c')"
_KERAS_3 = """
import keras, numpy
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((1, 1)), numpy.ones((1, 1)), verbose=0)
"""


@dataclass(frozen=True)
class Workload:
    """Something that the image runs.

    Attributes:
        words: What Python gets.
        environment: What it finds besides.
    """

    words: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)


def _built_in(command: str, artifacts: str, *options: str, **environment: str) -> Workload:
    return Workload((*_TRAINER, *command.split(), *options, f"--artifacts={artifacts}"), environment)


def _example(name: str, *words: str) -> Workload:
    return Workload((str(EXAMPLES / name), *words), {"QTJ_ARTIFACTS_URI": Path.cwd().joinpath(name).as_uri()})


def workloads() -> dict[str, Workload]:
    """Returns all of them, by name, in the order in which they need each other. Artifacts lie in the current folder."""
    line = ("--examples=100", "--epochs=3")
    return {
        "qcnn, hybrid": _built_in("train qcnn", "hybrid", *_QUBITS),
        "its inference": _built_in("infer", "hybrid"),
        "its curves": Workload(("-c", _CURVES)),
        "qcnn, several filters": _built_in("train qcnn", "filters", *_QUBITS, "--filters=3"),
        "qcnn, pure": _built_in("train qcnn", "pure", *_QUBITS, "--model=pure"),
        "qcnn on TensorFlow Quantum": _built_in("train qcnn", "tfq", *_QUBITS, "--engine=tfq"),
        "linear-regression": _built_in("train linear-regression", "line", *line, QTJ_JOB_UID="a"),
        "its evaluator": _built_in(
            "train linear-regression", "line", *line, QTJ_JOB_UID="a", TF_CONFIG=json.dumps(_EVALUATOR)
        ),
        "fashion-mnist": _built_in("train fashion-mnist", "fashion", "--devices=2", "--epochs=1", "--examples=200"),
        "the images of make_images.py": Workload((str(EXAMPLES / "make_images.py"), "folder")),
        "images": _built_in("train images", "images", "--data=folder", "--size=32", "--epochs=1"),
        "a Keras program": _example("own_program.py"),
        "a circuit of one's own": _example("own_circuit.py"),
        "a loop of one's own": _example("own_loop.py"),
        "a replicator": _example("replicator.py"),
        "the tutorial": _example("tutorial.py", "--weights=weights.h5"),
        "a Keras 3 model": Workload(("-c", _KERAS_3)),
        "a profile": Workload(("-c", _PROFILE)),
        "a picture": Workload(("-c", _PICTURE)),
        "a bucket": Workload(("-c", _BUCKET)),
        "help": Workload((*_TRAINER, "train", "qcnn", "--help")),
    }


def failure(name: str, workload: Workload) -> str | None:
    """Runs a workload; returns what it wrote when it failed."""
    begin = time.monotonic()
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("QTJ_", "TF_CONFIG"))}
    log = {"QTJ_TERMINATION_LOG": str(Path("termination-log").resolve())}
    ended = subprocess.run(
        [sys.executable, *workload.words],
        env=variables | log | workload.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    sys.stdout.write(f"{'ok' if ended.returncode == 0 else 'FAILED'}  {time.monotonic() - begin:5.1f} s  {name}\n")
    sys.stdout.flush()
    return None if ended.returncode == 0 else f"{name} ended with {ended.returncode}:\n{ended.stdout[-3000:]}"


def main() -> None:
    """Ends with what the workloads that failed wrote."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    wanted = {name: each for name, each in workloads().items() if not sys.argv[2:] or name in sys.argv[2:]}
    sys.exit("\n".join(filter(None, (failure(name, each) for name, each in wanted.items()))) or 0)


if __name__ == "__main__":
    main()
