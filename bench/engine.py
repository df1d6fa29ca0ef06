"""`make bench-engine`: the fused engine beside TensorFlow Quantum, TensorCircuit-ng, PennyLane Lightning and qulacs.

One process for each engine; they take turns, so that whatever else the machine does falls on all alike. The figures are
minima over the rounds. The last line sums up: the least ratio to TensorFlow Quantum, and to the best of the others.
"""

import argparse
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.case import Case
from bench.roofline import bytes_moved, copy_speed, operations, peak
from bench.simulators.fused import fused_plan
from bench.simulators.trainer import steps_of

OURS = ("fused", "tfq", "trainer_fused", "trainer_tfq")
BATCHES = {8: 32, 12: 32, 16: 4, 20: 1, 23: 1}
_LARGE = 1024


@dataclass
class Runner:
    """One engine in a process of its own."""

    name: str
    process: "subprocess.Popen[str]"
    times: dict[str, float] = field(default_factory=dict)
    first: float = 0.0
    mib: int = 0
    slopes: list[float] = field(default_factory=list)
    spent: float = 0.0
    lost: str = ""

    def ask(self, what: str, seconds: float) -> None:
        """Measures once; an engine that takes longer than `seconds` drops out."""
        if self.lost:
            return
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(f"{what}\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            answer = json.loads(self.process.stdout.readline()) if ready else {}
        except (OSError, ValueError):
            answer = {}
        if not answer:
            self.lost = "too slow" if self.process.poll() is None else "failed"
            self.process.kill()
            return
        self._note(what, answer)

    def _note(self, what: str, answer: dict[str, Any]) -> None:
        self.spent += answer["spent"]
        if what == "first":
            self.first = answer["seconds"]
        else:
            self.times[what] = min(self.times.get(what, float("inf")), answer["seconds"])
        self.mib = answer["mib"]
        if what == "gradient":
            self.slopes = answer["result"]


@contextmanager
def started(names: list[str], case: Case, threads: int, other_python: str) -> Iterator[list[Runner]]:
    """Starts one process for each engine, with as many threads each; returns when all have imported their libraries."""
    limited = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    limits = {name: str(threads) for name in limited} | {"TF_NUM_INTEROP_THREADS": "1"}
    limits["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    environment = os.environ | limits | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    cores = sorted(os.sched_getaffinity(0))[:threads]
    runners = []
    for name in names:
        python = sys.executable if name in OURS else other_python
        command = [python, "-W", "ignore", "-m", "bench.simulators", name, *map(str, (*case, threads))]
        process = subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        os.sched_setaffinity(process.pid, cores)
        runners.append(Runner(name, process))
    try:
        for each in runners:
            assert each.process.stdout is not None
            each.process.stdout.readline()
        yield runners
    finally:
        for runner in runners:
            runner.process.kill()
            runner.process.wait()


def measure(case: Case, threads: int, names: list[str], options: argparse.Namespace) -> list[Runner]:
    """Runs one case with all engines in turns; an engine that has used its seconds skips the other rounds."""
    with started(names, case, threads, options.other_python) as runners:
        for runner in runners:  # the first result of each alone: it may compile
            runner.ask("first", options.patience)
            runner.ask("forward", options.patience)
            runner.spent = 0.0
        for _ in range(options.rounds):
            for what in ("gradient", "forward"):
                for runner in runners:
                    if runner.spent < options.seconds:
                        runner.ask(what, options.patience)
    return runners


def row(case: Case, threads: int, runners: list[Runner]) -> dict[str, Any]:
    """One line of the table."""
    engines = {
        runner.name: {
            "ms": {what: 1e3 * seconds / case.batch for what, seconds in runner.times.items()},
            "first_s": runner.first, "mib": runner.mib, "slopes": runner.slopes, "lost": runner.lost,
        }
        for runner in runners
    }  # fmt: skip
    return {"qubits": case.qubits, "layers": case.layers, "batch": case.batch, "threads": threads, "engines": engines}


def ratio(measured: dict[str, Any], name: str, what: str = "gradient") -> float:
    """How many times longer an engine takes than ours; infinite for one that dropped out."""
    other = measured["engines"].get(name, {}).get("ms", {}).get(what)
    return other / measured["engines"]["fused"]["ms"][what] if other else float("inf")


def show(measured: dict[str, Any]) -> None:
    """Prints one line of the table for each engine."""
    for name, one in measured["engines"].items():
        times = "  ".join(f"{what} {ms:10.4f} ms" for what, ms in one["ms"].items()) or one["lost"]
        where = f"{measured['qubits']:2} qubits {measured['layers']} layers {measured['threads']} threads"
        times += f"  x{ratio(measured, name):.1f}" if one["ms"] and name != "fused" else ""
        print(f"{where}  {name:13} {times}  first {one['first_s']:.1f} s  {one['mib']} MiB", flush=True)


def shares(measured: dict[str, Any], rate: float, speed: float) -> str:
    """How near the fused engine's gradient comes to what this machine can do."""
    plan = fused_plan(Case(measured["qubits"], measured["layers"], measured["batch"]))
    seconds = measured["engines"]["fused"]["ms"]["gradient"] / 1e3
    computed = operations(plan) / seconds / (rate * measured["threads"])
    measured["shares"] = {"multiply_add": computed, "copy": bytes_moved(plan) / seconds / speed}
    return f"{computed:.0%} of the multiply-add rate, {measured['shares']['copy']:.0%} of the copy speed"


def disagreement(measured: dict[str, Any]) -> dict[str, float]:
    """How far the first components of the other engines' gradients are from ours, relative to the largest."""
    ours = measured["engines"]["fused"]["slopes"]
    scale = max(map(abs, ours))
    return {
        name: max(abs(theirs - mine) for theirs, mine in zip(one["slopes"], ours, strict=True)) / scale
        for name, one in measured["engines"].items()
        if one["slopes"] and name != "fused"
    }


def training_step(threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of the trainer's whole step at 8 qubits, with our engine and with TensorFlow Quantum."""
    case = Case(8, 1, BATCHES[8])
    runners = measure(case, threads, ["trainer_fused", "trainer_tfq"], options)
    ours, theirs = (1e3 * runner.times["gradient"] / steps_of(case) for runner in runners)
    where = f"training step, 8 qubits, batch {case.batch}, {threads} threads"
    print(f"{where}: {ours:.2f} ms, with tfq {theirs:.2f} ms  x{theirs / ours:.1f}", flush=True)
    return {"threads": threads, "fused": ours, "tfq": theirs}


def large_batch(threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of one example in a batch so large that what is done once a call does not count."""
    case = Case(8, 1, _LARGE)
    (ours,) = measure(case, threads, ["fused"], options)
    milliseconds = 1e3 * ours.times["gradient"] / case.batch
    print(f"8 qubits, batch {case.batch}, {threads} threads: {milliseconds:.5f} ms", flush=True)
    return {"threads": threads, "fused": milliseconds}


def summary(rows: list[dict[str, Any]]) -> str:
    """The last line."""
    others = ("tensorcircuit", "lightning", "qulacs")
    to_tfq = min(ratio(each, "tfq") for each in rows)
    to_best = min(min(ratio(each, name) for name in others) for each in rows)
    return f"engine: {len(rows)} sizes, least ratio to tfq {to_tfq:.1f}, to the best other engine {to_best:.1f}"


def main() -> None:
    """Measures, prints, and writes everything to a JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qubits", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--engines", nargs="+", default=["fused", "tfq", "tensorcircuit", "lightning", "qulacs"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30, help="after so many, an engine skips the other rounds")
    parser.add_argument("--patience", type=float, default=120, help="seconds one gradient may take")
    parser.add_argument("--other-python", default=sys.executable, help="has requirements/bench.txt")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rate, speed = peak(), copy_speed()
    print(f"one core: {rate / 1e9:.0f} GFLOP/s of multiply-adds, copies at {speed / 1e9:.1f} GB/s", flush=True)
    rows = []
    gone: dict[str, int] = {}  # qubits that were too many: more layers or qubits will not be tried
    for layers in sorted(options.layers):
        for threads in options.threads:
            for qubits in sorted(options.qubits):
                names = [name for name in options.engines if qubits < gone.get(name, qubits + 1)]
                case = Case(qubits, layers, BATCHES.get(qubits, 1))
                runners = measure(case, threads, names, options)
                rows.append(row(case, threads, runners))
                show(rows[-1])
                print(f"   fused: {shares(rows[-1], rate, speed)}", flush=True)
                far = ", ".join(f"{name} {error:.0e}" for name, error in disagreement(rows[-1]).items())
                print(f"   gradients differ from ours by: {far}", flush=True)
                gone |= {runner.name: qubits for runner in runners if runner.lost}
    steps = [training_step(threads, options) for threads in options.threads]
    large = [large_batch(threads, options) for threads in options.threads]
    if options.output:
        machine = {"multiply_adds": rate, "copy": speed}
        options.output.write_text(
            json.dumps({"machine": machine, "rows": rows, "steps": steps, "large": large}, indent=1)
        )
    print(summary(rows))


if __name__ == "__main__":
    main()
