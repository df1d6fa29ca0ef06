"""`make bench-training`: a whole training step beside the engine's own time, and what a second worker brings.

The step and the engine take turns in processes of one thread each. The workers are real trainer processes, each with
one thread on a processor of its own, which share the same batches: strong scaling. Figures are the best of the rounds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.case import Case
from bench.engine import BATCHES, measure
from bench.simulators.trainer import steps_of
from tools.background import tf_configs
from tools.cluster.paths import REPO

_BATCH = 32
_ROUNDS = {8: 20_000, 12: 3000, 16: 300, 18: 60}
"""Examples for each qubit, so that an epoch takes seconds and its beginning does not count."""
_EPOCHS = 3
_WORKERS = (1, 2)


def step(qubits: int, options: argparse.Namespace) -> dict[str, float]:
    """Returns the milliseconds of one gradient of the engine and of one training step, both with one thread."""
    case = Case(qubits, 1, BATCHES.get(qubits, 1))
    engine, trainer = measure(case, 1, ["fused", "trainer_fused"], options)
    seconds = engine.times["gradient"], trainer.times["gradient"] / steps_of(case)
    return {"engine": 1e3 * seconds[0], "step": 1e3 * seconds[1], "ratio": seconds[1] / seconds[0]}


def scaling(qubits: int, options: argparse.Namespace) -> dict[str, float]:
    """Returns examples per second of one and of two workers, and the share of twice the rate of one."""
    best = dict.fromkeys(_WORKERS, 0.0)
    for _ in range(options.rounds):
        for workers in _WORKERS:
            best[workers] = max(best[workers], rate(qubits, workers))
    return {"one": best[1], "two": best[2], "share": best[2] / best[1] / 2}


def rate(qubits: int, workers: int) -> float:
    """Returns the examples per second of the best epoch of a real training."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as started:
        chosen = {"qubits": qubits, "batch-size": _BATCH, "epochs": _EPOCHS, "rounds": _ROUNDS.get(qubits, 5)}
        words = [*(f"--{name}={value}" for name, value in chosen.items()), f"--artifacts={folder}"]
        configs = tf_configs(worker=workers).values() if workers > 1 else [""]
        processes = [started.enter_context(_worker(index, each, words)) for index, each in enumerate(configs)]
        outputs = [process.communicate()[0] for process in processes]
        if any(process.returncode for process in processes):
            raise SystemExit(f"a worker failed:\n{outputs[0]}")
        return max(_rates(outputs[0]))


def _worker(index: int, tf_config: str, words: Sequence[str]) -> "subprocess.Popen[str]":
    core = sorted(os.sched_getaffinity(0))[index]
    one = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    source = {"PYTHONPATH": os.pathsep.join(str(REPO / each) for each in ("operator", "trainer"))}
    ports = {"QTJ_METRICS_PORT": "0", "QTJ_PROFILER_PORT": "0"}
    environment = os.environ | one | source | ports | ({"TF_CONFIG": tf_config} if tf_config else {})
    command = [sys.executable, "-m", "qtj_trainer", "--log-format", "json", "train", "qcnn", *words]
    return subprocess.Popen(
        ["taskset", "-c", str(core), *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
    )  # fmt: skip


def _rates(output: str) -> Iterator[float]:
    for line in output.splitlines():
        progress = json.loads(line).get("progress", {}) if line.startswith("{") else {}
        if "examplesPerSecond" in progress:
            yield float(progress["examplesPerSecond"])


def plot(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Draws step and engine by qubits, and the share that two workers reach."""
    from matplotlib.figure import Figure

    qubits = [row["qubits"] for row in rows]
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    times, shares = figure.subplots(1, 2)
    for name in ("engine", "step"):
        times.plot(qubits, [row["step"][name] for row in rows], marker="o", label=name)
    times.set(xlabel="qubits", ylabel="milliseconds, one thread", yscale="log", title="One training step")
    times.legend()
    shares.plot(qubits, [2 * row["scaling"]["share"] for row in rows], marker="o")
    shares.axhline(1, linestyle=":", color="gray")
    shares.set(xlabel="qubits", ylabel="times the rate of one", ylim=(0, 2.1), title="Two workers, one thread each")
    figure.savefig(file, dpi=130)


def main() -> None:
    """Measures, prints, and writes everything to a JSON file and a plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qubits", type=int, nargs="+", default=[8, 12, 16, 18])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30, help="after so many, a process skips the other rounds")
    parser.add_argument("--patience", type=float, default=120, help="seconds that a measurement may take")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    options.other_python = sys.executable
    rows = []
    for qubits in options.qubits:
        rows.append({"qubits": qubits, "step": step(qubits, options), "scaling": scaling(qubits, options)})
        print(_line(rows[-1]), flush=True)
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1))
    if options.plot:
        plot(rows, options.plot)
    least, share = max(row["step"]["ratio"] for row in rows), min(row["scaling"]["share"] for row in rows)
    print(f"training: {len(rows)} sizes, worst step ratio to engine {least:.2f}, least scaling {share:.2f}")


def _line(row: dict[str, Any]) -> str:
    one, two = row["step"], row["scaling"]
    step = f"engine {one['engine']:.3f} ms, step {one['step']:.3f} ms (x{one['ratio']:.2f})"
    rates = f"{two['one']:.0f} examples/s with one worker, {two['two']:.0f} with two ({two['share']:.0%} of twice)"
    return f"{row['qubits']:2} qubits: {step}; {rates}"


if __name__ == "__main__":
    main()
