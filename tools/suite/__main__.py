"""`python -m tools.suite`: all of `make test`, or with `long` of `make test-long`."""

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .stages import SHARD_MINUTES, SHARDS, TEST, TEST_MINUTES, Stage, Took, shard, table

OUTPUT = Path("test-output")
TIMES = OUTPUT / "times.txt"
BUILDS = "prefetch"
_SHOWN = 10_000
"""Characters of what a stage has printed that failed beside others."""


def main(words: Sequence[str]) -> int:
    """Runs the stages until one fails; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.suite", description=__doc__)
    parser.add_argument("suite", choices=("test", "long"))
    parser.add_argument("--shard", default="", help=f"of `long`: a number of {SHARDS}, as in 1/{SHARDS}; default: all")
    options = parser.parse_args(words)
    OUTPUT.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs beside the stages ends too
    if options.suite == "test":
        print(f"tools and images that are missing are built meanwhile: {log_of(BUILDS)}", flush=True)
        # What fails to be built is built again by the stage that needs it, which then fails with the builder's words.
        with beside(BUILDS):
            return run(TEST, TEST_MINUTES)
    try:
        stages = shard(options.shard)
    except ValueError as error:
        parser.error(str(error))
    shards = len({stage.shard for stage in stages})
    print(f"{shards} of {SHARDS} shards, of at most {SHARD_MINUTES:g} minutes each", flush=True)
    return run(stages, shards * SHARD_MINUTES)


def run(stages: Sequence[Stage], limit: float) -> int:
    """Runs the stages until one fails, and prints the table of their times, which is kept in a file too.

    Those beside others are looked at after each of them, and waited for before one that runs alone, and at the end.
    """
    took: list[Took] = []
    running: dict[str, subprocess.Popen[bytes]] = {}
    with contextlib.ExitStack() as stack:
        for stage in stages:
            if stage.alone:
                took += [awaited(each, running.pop(each)) for each in [*running]]
            if not all(each.passed for each in took):
                break
            if stage.beside:
                print(f"make {stage.target} beside what follows: {log_of(stage.target)}", flush=True)
                running[stage.target] = stack.enter_context(beside(stage.target))
            else:
                took.append(foreground(stage.target))
                took += [awaited(each, running.pop(each)) for each in ended(running)]
            TIMES.write_text(table(took, limit) + "\n")
        else:
            took += [awaited(target, process) for target, process in running.items()]
    TIMES.write_text(table(took, limit) + "\n")
    print(TIMES.read_text(), end="", flush=True)
    return 0 if all(each.passed for each in took) else 2


def ended(running: Mapping[str, subprocess.Popen[bytes]]) -> Sequence[str]:
    """Returns the stages that ran beside others and have ended."""
    return [target for target, process in running.items() if process.poll() is not None]


def foreground(target: str) -> Took:
    """Runs a stage to its end."""
    print(f"make {target}", flush=True)
    began, used = time.monotonic(), used_seconds()
    code = subprocess.run(["make", target], check=False).returncode
    seconds = time.monotonic() - began
    return Took(target, seconds, passed=not code, busy=(used_seconds() - used) / (seconds * (os.cpu_count() or 1)))


def awaited(target: str, process: subprocess.Popen[bytes]) -> Took:
    """Waits for the end of a stage that ran beside others; prints its last words if it failed."""
    began = time.monotonic()
    code = process.wait()
    if code:
        print(log_of(target).read_text(errors="replace")[-_SHOWN:], flush=True)
    return Took(target, time.monotonic() - began, passed=not code, busy=None)


def used_seconds() -> float:
    """The processor time of all that was started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def log_of(target: str) -> Path:
    """Returns the file of what a target prints that runs beside others."""
    return OUTPUT / f"{target}.log"


@contextlib.contextmanager
def beside(target: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a target at low priority beside what follows, and ends it after that.

    It stays in this session: Linux may give each session the same share of the processors, whatever its priority.
    """
    with log_of(target).open("w") as log:
        command = ["nice", "-n", "19", "make", target]
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, process_group=0)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
