"""`make bench-wide`: values and gradients of wide circuits with our engine, TensorFlow Quantum, qsim and Lightning.

Each engine and size has a process of its own, one after the other. The first case is a public benchmark of training: an
Ising chain of 20 qubits and 10 layers.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.wide.chain import Chain
from bench.wide.room import STATES, available, cost_of_many, too_large
from qtj_contract.quantities import bytes_of

_OURS = ("ours", "tfq")
_PUBLIC = Chain(20, 10)
_PUBLISHED = (
    "published for the gradient of 20 qubits and 10 layers on an RTX 5090: TensorCircuit-ng on JAX 0.0265 s after 53.5"
    " s of compiling, on PyTorch 0.330 s; TorchQuantum 0.417 s"
)

Row = dict[str, Any]


def finished(command: list[str], threads: int, patience: float) -> tuple[str, list[str]]:
    """Runs a command; returns what it printed, and why it did not end well, if it did not."""
    limited = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    environment = os.environ | dict.fromkeys(limited, str(threads))
    environment |= {"TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}
    with subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            output, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0], [f"not done after {patience:g} s"]
    last = errors.strip().splitlines()[-1:] or [f"ended with {process.returncode}"]
    return output, last if process.returncode else []


def rows(engine: str, chain: Chain, wanted: list[str], options: argparse.Namespace) -> Iterator[Row]:
    """Runs one engine; yields its figures, or why there are none."""
    python = sys.executable if engine in _OURS else options.other_python
    command = [python, "-W", "ignore", "-m", "bench.wide.process", engine]
    command += [*map(str, (*chain, options.threads)), *wanted]
    output, problem = finished(command, options.threads, options.patience)
    named = {"engine": engine, "qubits": chain.qubits, "layers": chain.layers}
    yield from (named | json.loads(line) for line in output.splitlines())
    yield from (named | {"problem": each} for each in problem)


def show(row: Row, own: Row | None) -> None:
    """Prints one line of the table; `own` is that of the first engine, ours, for the same, if it has one."""
    where = f"{row['qubits']:2} qubits {row['layers']:2} layers  {row['engine']:9}"
    if problem := row.get("problem"):
        print(f"{where} {problem}", flush=True)
        return
    times = f"{row['seconds']:9.3f} s  processor {row['processor']:9.3f} s  first {row['first']:9.3f} s"
    ratio = f"  x{row['seconds'] / own['seconds']:.1f}" if own else ""
    print(f"{where} {row['what']:8} {times}  {row['mib']:6} MiB{ratio}", flush=True)
    if own and own is not row:
        print(f"   differs by {difference(row, own):.0e}", flush=True)


def difference(row: Row, own: Row) -> float:
    """How far results are from those of the first engine, relative to their largest."""
    pairs = list(zip(row["result"], own["result"], strict=True))
    return float(max(abs(theirs - mine) for theirs, mine in pairs) / max(abs(mine) for _, mine in pairs))


def measure(chain: Chain, options: argparse.Namespace) -> Iterator[Row]:
    """Runs one case with all engines, and prints it."""
    own: dict[str, Row] = {}
    for engine in options.engines:
        memory = options.memory or available()
        problems = {what: too_large(engine, what, chain.qubits, memory) for what in STATES[engine]}
        print("".join(f"{problem}\n" for problem in problems.values() if problem), end="", flush=True)
        wanted = [what for what, problem in problems.items() if not problem]
        for row in rows(engine, chain, wanted, options) if wanted else ():
            if engine == options.engines[0] and "what" in row:
                own[row["what"]] = row
            show(row, own.get(row.get("what", "")))
            yield row


def main() -> None:
    """Measures, prints, and writes everything to a JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qubits", type=int, nargs="*", default=[26, 28, 30])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--engines", nargs="+", choices=STATES, default=list(STATES))
    parser.add_argument("--memory", type=bytes_of, help="what may be used, such as 10Gi; all that is free if not given")
    parser.add_argument("--patience", type=float, default=3600, help="seconds one engine may take for one size")
    parser.add_argument("--other-python", default=sys.executable, help="has requirements/bench.txt")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    cases = [_PUBLIC, *(Chain(qubits, options.layers) for qubits in options.qubits)]
    every = [row for chain in cases for row in measure(chain, options)]
    print(_PUBLISHED)
    for row in every:
        if row["engine"] == "ours" and "seconds" in row and row["qubits"] > _PUBLIC.qubits:
            print(cost_of_many(row["what"], row["qubits"], row["layers"], row["seconds"]))
    if options.output:
        options.output.write_text(json.dumps(every, indent=1))


if __name__ == "__main__":
    main()
