"""`python -m tools.suite`: all of `make test`, or with `long` of `make test-long`."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .stages import SHARD_MINUTES, SHARDS, TEST, TEST_MINUTES, Took, shard, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .stages import Stage

OUTPUT = Path("test-output")
TIMES = OUTPUT / "times.txt"
BUILDS = OUTPUT / "prefetch.log"


def main(words: Sequence[str]) -> int:
    """Runs the stages until one fails; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.suite", description=__doc__)
    parser.add_argument("suite", choices=("test", "long"))
    parser.add_argument("--shard", default="", help=f"of `long`: a number of {SHARDS}, as in 1/{SHARDS}; default: all")
    options = parser.parse_args(words)
    OUTPUT.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the builds end too
    if options.suite == "test":
        with built_meanwhile():
            return run(TEST, TEST_MINUTES)
    try:
        stages = shard(options.shard)
    except ValueError as error:
        parser.error(str(error))
    shards = len({stage.shard for stage in stages})
    print(f"{shards} of {SHARDS} shards, of at most {SHARD_MINUTES:g} minutes each", flush=True)
    return run(stages, shards * SHARD_MINUTES)


def run(stages: Sequence[Stage], limit: float) -> int:
    """Runs the stages until one fails, and prints the table of their times, which is kept in a file too."""
    took: list[Took] = []
    code = 0
    for stage in stages:
        print(f"make {stage.target}", flush=True)
        began, used = time.monotonic(), used_seconds()
        code = subprocess.run(["make", stage.target], check=False).returncode
        seconds = time.monotonic() - began
        busy = (used_seconds() - used) / (seconds * (os.cpu_count() or 1))
        took.append(Took(stage.target, seconds, passed=not code, busy=busy))
        TIMES.write_text(table(took, limit) + "\n")
        if code:
            break
    print(TIMES.read_text(), end="", flush=True)
    return code


def used_seconds() -> float:
    """The processor time of all that was started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def built_meanwhile() -> Iterator[None]:
    """Builds tools and images while the first stages run, with what these leave of the processors.

    What fails to be built is built again by the stage that needs it, which then fails with the builder's words.
    """
    print(f"tools and images that are missing are built meanwhile: {BUILDS}", flush=True)
    with BUILDS.open("w") as log:
        command = ["nice", "-n", "19", "make", "prefetch"]
        builds = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(builds.pid, signal.SIGTERM)
            builds.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
