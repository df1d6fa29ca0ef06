"""What a training takes at its peak: the trainer in a separate process, which measures itself at its end.

Run as a program, this file is that process: `peak.py FREE_BYTES ARGUMENTS...` trains where FREE_BYTES are free, or what
really is for 0.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from qtj_trainer.replica.signals import Stop
from qtj_trainer.run.cli import app
from tools.background import tf_configs

REPOSITORY = Path(__file__).parents[2]
GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Peak:
    """The end of a training.

    Attributes:
        code: Its exit code; negative for the signal that killed it.
        private: Most bytes that it had for itself: resident memory without the files of libraries.
        errors: Its output on stderr.
    """

    code: int
    private: int
    errors: str


def peak(*arguments: str, threads: int = 2, free: int = 0, group: Path | None = None) -> Peak:
    """Trains in a separate process, in a control group if one is given."""
    joining = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"] if group else []
    with tempfile.TemporaryDirectory() as folder:
        return _end_of(_started(folder, arguments, joining=joining, threads=threads, free=free))


def peaks(workers: int, *arguments: str) -> list[Peak]:
    """Trains in so many processes, which take each step together."""
    with tempfile.TemporaryDirectory() as folder:
        configs = tf_configs(worker=workers).values()
        started = [_started(folder, arguments, TF_CONFIG=config) for config in configs]
        return [_end_of(each) for each in started]


def _started(
    folder: str, arguments: Sequence[str], *, joining: Sequence[str] = (), threads: int = 2, free: int = 0, **more: str
) -> subprocess.Popen[str]:
    sources = os.pathsep.join(str(REPOSITORY / source) for source in ("operator", "trainer", "."))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("QTJ_", "TF_"))}
    environment = inherited | {"PYTHONPATH": sources, "OMP_NUM_THREADS": str(threads)} | more
    command = [*joining, sys.executable, __file__, str(free), "train", "qcnn", "--epochs=1", *arguments]
    return subprocess.Popen(
        [*command, f"--artifacts={folder}"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _end_of(process: subprocess.Popen[str]) -> Peak:
    output, errors = process.communicate()
    return Peak(process.returncode, int(output.split()[-1]) if process.returncode == 0 else 0, errors)


@contextmanager
def limited(limit: int) -> Iterator[Path]:
    """Makes a control group with a limit of memory, version 1 or 2; skips the test where that cannot be."""
    name, number = f"qtj-peak-{os.getpid()}", "memory.limit_in_bytes"
    group = GROUPS / "memory" / name
    if not (GROUPS / "memory" / number).exists():
        group, number = GROUPS / name, "memory.max"
    try:
        group.mkdir()
    except OSError as problem:
        pytest.skip(f"no control group can be made here: {problem}")
    try:
        if not (group / number).exists():
            pytest.skip("control groups have no limit of memory here")
        (group / number).write_text(str(limit))
        yield group
    finally:
        group.rmdir()


def main(free: int, arguments: list[str]) -> None:
    if free:  # only then: it imports TensorFlow, and a training that is refused must not
        from qtj_simulator.fused.library import library

        library().qtj_assume_free(free)
    app(arguments, standalone_mode=False, obj=Stop())
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    kilobytes = {words[0]: int(words[1]) for words in lines if words[-1] == "kB"}
    sys.stdout.write(f"{(kilobytes['VmHWM:'] - kilobytes['RssFile:'] - kilobytes['RssShmem:']) * 1024}\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
